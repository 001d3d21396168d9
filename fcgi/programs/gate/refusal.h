/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a refused client sees: a page for a person, JSON for a program, or the redirect that puts
 * the token of a link into a cookie. */
#pragma once

#include "gate/decide.h"
#include "http/http.h"
#include "sandbox/lifecycle.h"

#define GATE_QUERY_TOKEN "access_token"
/* A browser takes a cookie of this prefix from the host itself only (Secure, Path=/, no Domain), so
 * none that another sandbox sets for the common domain can stand in front of it. */
#define GATE_COOKIE "__Host-sandlot_access_token"

/* The value of the query parameter access_token as a new string, or NULL. */
char *gate_query_token(const struct http_request *request);

/* Answer nginx's question of KIND refusal. */
void gate_serve_refusal(struct gate *gate, struct http_request *request,
                        struct http_response *response);
