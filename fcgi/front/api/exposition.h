/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET /metrics, in the format of Prometheus. It is not part of the API: it is served on a local
 * port of nginx only (sandlot.conf.in). Requests there have a parameter that clients cannot send.
 */
#pragma once

#include "api/api.h"

/* Return whether a request is for the metrics. */
bool exposition_is_asked(const struct http_request *request);

/* Answer with the metrics. When the database is away, they have no gauges of the database. */
void exposition_serve(struct api *api, struct http_request *request,
                      struct http_response *response);
