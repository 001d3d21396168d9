/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find the access token of a request. Each function returns a new secret string, which the caller
 * wipes and frees, or NULL. */
#pragma once

#include "http/http.h"

#define GATE_QUERY_TOKEN "access_token"
/* A browser accepts a cookie with this prefix only from the host itself (Secure, Path=/, no
 * Domain). So another sandbox cannot replace it with a cookie for the common domain. */
#define GATE_COOKIE "__Host-sandlot_access_token"

/* Return the token that the client added on purpose. The Authorization header of a preview belongs
 * to the application and is ignored. */
char *token_given(const struct http_request *request, bool is_preview);

/* Return the token of the cookie, which a browser sends by itself. The cookie comes from nginx,
 * because the key of nginx' cache of decisions must have the same value. */
char *token_of_cookie(const struct http_request *request);

/* Return the token of a link that a person opens, for a redirect. A form, a web socket or a page's
 * own poll cannot follow a redirect. The token in their address lets them in, and nginx removes
 * it. */
char *token_of_link(const struct http_request *request);

/* Return the value of the query parameter access_token. */
char *token_of_query(const struct http_request *request);

/* Return whether a token is too long. nginx stores decisions under these values, and a client must
 * not fill its cache directory. */
bool token_is_too_long(const struct http_request *request, bool is_preview);
