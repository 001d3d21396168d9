/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of the console. nginx marks requests to the console's own host. Such a request has a
 * cookie and a header that no page of another origin can send; browsers add the page's origin.
 */
#pragma once

#include "api/api.h"
#include "login/sign_in.h"

/* Check that the request came to the console's host. Errors: ERR_NOT_FOUND. */
int console_check_host(const struct http_request *request, struct error **err);

/* Check that a page of the console itself made the request. Errors: ERR_UNAUTHORIZED. */
int console_check_origin(const struct api *api, const struct http_request *request,
                         struct error **err);

/* Return whether the request has the cookie, valid or not, and came to the console's host. */
bool console_has_cookie(const struct http_request *request);

/* Find the principal and the sign-in of the cookie. Errors: ERR_UNAUTHORIZED. */
int console_authenticate(struct api *api, const struct http_request *request, struct error **err);

/* Do the same again during a request, which is no use of the sign-in: a slow transfer does not
 * prolong it. */
int console_check_again(struct api *api, const struct http_request *request, struct error **err);

/* Of all cookies that only the console's own pages need. */
#define CONSOLE_COOKIE_ATTRIBUTES "Path=/; Secure; HttpOnly; SameSite=Strict"

/* Set or delete the cookie. */
void console_set_cookie(const struct api *api, struct http_response *response, const char *text);
void console_clear_cookie(struct http_response *response);

/* Answer a new sign-in with its cookie and its user; wipes text. */
int console_answer_login(const struct api *api, const struct login *login,
                         char text[SECRET_TEXT_SIZE], struct http_response *response);

/* Return the value of a cookie, or NULL; the caller wipes and frees it. The name is case-sensitive.
 * Some browsers protect the prefix in one case only, and other sites could set the other forms. */
char *console_cookie_of(const struct http_request *request, const char *name);

/* Return the context of a sign-in. Its texts are borrowed from the request. */
struct sign_in console_sign_in(struct api *api, const struct http_request *request);

/* Return whether a person can make a user with a link into a team. */
bool console_lets_sign_up(const struct api *api);

/* Return the user, or one sign-in, as JSON (a new reference). current: the request's sign-in. */
json_t *console_user_to_json(const struct login *login);
json_t *console_login_to_json(const struct login *login, const struct login *current);

/* Check the length of a new password, for a schema. Errors: ERR_INVALID_REQUEST. */
int check_new_password(const json_t *value, const char *pointer, struct error **err);
