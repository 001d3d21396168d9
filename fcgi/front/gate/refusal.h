/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The answer to a refused client. It is a page for a person, JSON for a program, or the redirect
 * that puts the token of a link into a cookie. */
#pragma once

#include "gate/decide.h"
#include "http/http.h"

/* Return whether the refused request is a call to the agent in the Connect protocol. */
bool refusal_is_of_call(const struct http_request *request);

/* Answer a question of nginx with KIND refusal. */
void gate_serve_refusal(struct gate *gate, struct http_request *request,
                        struct http_response *response);
