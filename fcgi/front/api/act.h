/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that change something, as the audit log has them: all of them, by the table of what is
 * recorded (audit/actions.def). */
#pragma once

#include "api/api.h"

/* Run the handler of the route as the act that it is. Errors: the handler's, and ERR_DB_… when what
 * was done could not be recorded. */
int act_do(struct api *api, const struct route *route, struct http_request *request,
           struct http_response *response, struct error **err);

/* Record that it was refused before its handler ran, if it was for want of rights. */
void act_refused(struct api *api, const struct route *route, const struct http_request *request,
                 const struct error *failure);

/* Whoever signs in is known by the time the act is written. login is borrowed until then. */
void act_signs_in(struct api *api, const struct login *login);
