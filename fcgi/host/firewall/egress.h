/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tell nginx which requests of a sandbox to a host with egress rules pass, to which address, and
 * with which headers (conf/nginx/sandlot-egress.conf.in). */
#pragma once

#include "firewall/filter.h"
#include "http/http.h"

/* GET /v1/egress. Answers 200 with header lines, or 403 with the line Sandlot-Reason. context: the
 * filter. */
int egress_answer(void *context, struct http_request *request, struct http_response *response,
                  struct error **err);
