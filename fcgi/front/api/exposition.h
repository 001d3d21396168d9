/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET /metrics, for Prometheus and what understands it. It is no part of the interface: nginx asks
 * for it on a port of this machine alone (sandlot.conf.in), and says so with a parameter that no
 * client can send. */
#pragma once

#include "api/api.h"

/* Whether this request is for the numbers. */
bool exposition_is_asked(const struct http_request *request);

/* Answer with them. What the database does not tell is left out, the counters are always there. */
void exposition_serve(struct api *api, struct http_request *request,
                      struct http_response *response);
