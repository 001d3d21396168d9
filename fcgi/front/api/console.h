/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is particular to requests of the console: they come to its own host, which nginx says, from
 * its own pages, which browsers say, with a header that no page of another origin can send, and
 * with a cookie.
 */
#pragma once

#include "api/api.h"
#include "login/sign_in.h"

/* Whether the request came to the console's host. Errors: ERR_NOT_FOUND. */
int console_check_host(const struct http_request *request, struct error **err);

/* Whether a page of the console itself made it. Errors: ERR_UNAUTHORIZED. */
int console_check_origin(const struct api *api, const struct http_request *request,
                         struct error **err);

/* Whether the request carries the cookie, good or not, and came to the console's host. */
bool console_has_cookie(const struct http_request *request);

/* The principal and the sign-in behind the cookie. Errors: ERR_UNAUTHORIZED. */
int console_authenticate(struct api *api, const struct http_request *request, struct error **err);

/* Give, or take back, the cookie. */
void console_set_cookie(const struct api *api, struct http_response *response, const char *text);
void console_clear_cookie(struct http_response *response);

/* The value of a cookie, or NULL; the caller wipes and frees it. Its name counts as it is written:
 * a browser that knows the prefix in one case only would let others set the rest. */
char *console_cookie_of(const struct http_request *request, const char *name);

struct sign_in console_sign_in(struct api *api, const struct http_request *request);

json_t *console_user_to_json(const struct login *login);
json_t *console_login_to_json(const struct login *login, const struct login *current);
