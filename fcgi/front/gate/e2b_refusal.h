/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Refusals at hosts of the form <port>-<sandboxID>, as E2B's clients expect them. These clients
 * take 502 as the sign that a sandbox does not run. */
#pragma once

#include "http/http.h"
#include "refusal/reason.h"

/* Return whether the request was sent to such a host. */
bool e2b_refusal_is_due(const struct http_request *request);

/* Answer a refusal in E2B's form. status: the status of the refusal at other hosts. */
void e2b_refusal_answer(const struct http_request *request, enum refusal_reason reason, int status,
                        struct http_response *response);
