/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a refused client sees: a page for a person, JSON for a program, or the redirect that puts
 * the token of a link into a cookie. */
#pragma once

#include "gate/decide.h"
#include "http/http.h"
#include "sandbox/lifecycle.h"

/* Answer nginx's question of KIND refusal. */
void gate_serve_refusal(struct gate *gate, struct http_request *request,
                        struct http_response *response);
