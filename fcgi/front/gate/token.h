/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a request has its access token. Tokens are new strings, secret: the caller wipes them; NULL
 * where there is none. */
#pragma once

#include "http/http.h"

#define GATE_QUERY_TOKEN "access_token"
/* A browser takes a cookie of this prefix from the host itself only (Secure, Path=/, no Domain), so
 * none that another sandbox sets for the common domain can stand in front of it. */
#define GATE_COOKIE "__Host-sandlot_access_token"

/* Of whoever sent the request on purpose. A preview's Authorization header belongs to the
 * application. */
char *token_given(const struct http_request *request, bool is_preview);

/* The one that a browser sends by itself; who sends another has no use for it. nginx takes the
 * cookie apart: it keys its cache of decisions with the same value that is judged here. */
char *token_of_cookie(const struct http_request *request);

/* Of a link that a person opens. A form, a web socket or a page's own poll could not follow a
 * redirect; they are let in by the token in the address, which nginx takes out. */
char *token_of_link(const struct http_request *request);

/* The value of the query parameter access_token. */
char *token_of_query(const struct http_request *request);

/* nginx files what it keeps under these values; a client must not fill its folder with them. */
bool token_is_too_long(const struct http_request *request, bool is_preview);
