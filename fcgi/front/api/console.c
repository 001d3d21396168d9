/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/console.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "api/sandbox_output.h"
#include "base/mem.h"
#include "base/str.h"

#define COOKIE "__Host-sandlot_session"
/* No script can read it, no page of another site can send it, and browsers send it only to the
 * console's host. */

static bool is_at_console(const struct http_request *request)
{
    return str_equal(http_parameter(request, "SANDLOT_CONSOLE"), "1");
}

int console_check_host(const struct http_request *request, struct error **err)
{
    if (is_at_console(request))
        return 0;
    return error_set(err, ERR_NOT_FOUND, "Sign in at the address of the console.");
}

/* Return whether a page of the console made the browser save an answer as a file, for which it can
 * add no header. No script can set this one. The query is not decoded yet. */
static bool is_own_download(const struct http_request *request)
{
    const char *query = http_parameter(request, "QUERY_STRING");
    return str_equal(request->method, "GET") && query && strstr(query, "&download=1") &&
           str_equal(http_header(request, "Sec-Fetch-Site"), "same-origin");
}

/* A page of another origin cannot send the first header without permission. Browsers set the others
 * themselves. */
int console_check_origin(const struct api *api, const struct http_request *request,
                         struct error **err)
{
    const char *origin = http_header(request, "Origin");
    const char *site = http_header(request, "Sec-Fetch-Site");
    if (!str_equal(http_header(request, "Sandlot-Console"), "1") && !is_own_download(request))
        return error_set(err, ERR_UNAUTHORIZED,
                         "The request has the console's cookie without the header Sandlot-Console: "
                         "1. Add the header.");
    if ((origin && strcasecmp(origin, api->settings->console_url) != 0) ||
        (site && strcmp(site, "same-origin") != 0))
        return error_set(err, ERR_UNAUTHORIZED,
                         "A page with another origin than the console made this request.");
    return 0;
}

char *console_cookie_of(const struct http_request *request, const char *name)
{
    const char *at = http_header(request, "Cookie");
    size_t name_length = strlen(name);
    while (at) {
        at += strspn(at, " \t;");
        size_t length = strcspn(at, ";");
        if (str_starts_with(at, name) && at[name_length] == '=')
            return xstrndup(at + name_length + 1, length - name_length - 1);
        at = at[length] ? at + length : NULL;
    }
    return NULL;
}

bool console_has_cookie(const struct http_request *request)
{
    autowipe char *text = is_at_console(request) ? console_cookie_of(request, COOKIE) : NULL;
    return text != NULL;
}

int console_authenticate(struct api *api, const struct http_request *request, struct error **err)
{
    autowipe char *text = console_cookie_of(request, COOKIE);
    if (console_check_origin(api, request, err) < 0)
        return -1;
    return login_authenticate(api->worker.db, api->worker.ring, api->settings, text,
                              &api->principal, &api->login, err);
}

int console_check_again(struct api *api, const struct http_request *request, struct error **err)
{
    autowipe char *text = console_cookie_of(request, COOKIE);
    return login_check(api->worker.db, api->worker.ring, text, &api->principal, &api->login, err);
}

void console_set_cookie(const struct api *api, struct http_response *response, const char *text)
{
    http_response_header(response, "Set-Cookie",
                         COOKIE "=%s; Max-Age=%" PRIu64 "; " CONSOLE_COOKIE_ATTRIBUTES, text,
                         api->settings->login_max_s);
}

int console_answer_login(const struct api *api, const struct login *login,
                         char text[SECRET_TEXT_SIZE], struct http_response *response)
{
    console_set_cookie(api, response, text);
    mem_wipe(text, SECRET_TEXT_SIZE);
    return http_response_json(response, 200,
                              json_pack("{s:o}", "user", console_user_to_json(login)));
}

void console_clear_cookie(struct http_response *response)
{
    http_response_header(response, "Set-Cookie", COOKIE "=; Max-Age=0; " CONSOLE_COOKIE_ATTRIBUTES);
}

struct sign_in console_sign_in(struct api *api, const struct http_request *request)
{
    return (struct sign_in){
        .db = api->worker.db,
        .ring = api->worker.ring,
        .settings = api->settings,
        .address = request->remote_address,
        .user_agent = http_header(request, "User-Agent"),
    };
}

bool console_lets_sign_up(const struct api *api)
{
    return str_equal(api->settings->links_create_users, "on");
}

json_t *console_user_to_json(const struct login *login)
{
    return json_pack("{s:s, s:s}", "id", login->user_id, "name", login->user_name);
}

json_t *console_login_to_json(const struct login *login, const struct login *current)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:s, s:s, s:b}", "id", login->id, "method",
                     login->method, "created_at", time_to_json(login->created_at_ms),
                     "last_seen_at", time_to_json(login->last_seen_at_ms), "expires_at",
                     time_to_json(login_ends_at_ms(login)), "address", login->address, "user_agent",
                     login->user_agent, "current", (int)!strcmp(login->id, current->id));
}
