/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Refusals at hosts of the form <port>-<sandboxID>, in the form that clients of E2B look for:
 * to them 502 is what says that a sandbox does not run. */
#pragma once

#include "http/http.h"
#include "refusal/reason.h"

/* Whether the request asked such a host. */
bool e2b_refusal_is_due(const struct http_request *request);

/* status: what the refusal has elsewhere. */
void e2b_refusal_answer(const struct http_request *request, enum refusal_reason reason, int status,
                        struct http_response *response);
