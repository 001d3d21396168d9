/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries of the audit log for requests that change something. audit/actions.def has all
 * actions. */
#pragma once

#include "api/api.h"

/* Run the handler of the route and record the act. Errors: the handler's, and ERR_DB_… when the act
 * could not be recorded. */
int act_do(struct api *api, const struct route *route, struct http_request *request,
           struct http_response *response, struct error **err);

/* Record a request that was refused before its handler ran, if it lacked rights. */
void act_refused(struct api *api, const struct route *route, const struct http_request *request,
                 const struct error *failure);

/* Set the sign-in whose user the entry names. login is borrowed until the entry is written; the
 * handler may fill it in until then. */
void act_signs_in(struct api *api, const struct login *login);
