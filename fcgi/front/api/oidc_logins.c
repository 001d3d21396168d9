/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sign-in through the identity provider: the browser goes there and comes back. The browser always
 * returns to the console, which shows errors. */
#include "api/act.h"
#include "api/console.h"
#include "base/log.h"
#include "base/mem.h"
#include "login/form.h"
#include "login/oidc.h"

/* The browser sends this cookie when the provider's page leads back, so it is Lax. The session
 * cookie is Strict. */
#define COOKIE       "__Host-sandlot_oidc"
#define ATTRIBUTES   "Path=/; Secure; HttpOnly; SameSite=Lax"
#define LOCATION_MAX 8192

static int go(struct http_response *response, const char *location)
{
    http_response_header(response, "Location", "%s", location);
    response->status = 302;
    return 0;
}

/* Go to the console with an error after '#', which browsers send to no server. If the request must
 * wait for a worker, the server serves it again later. */
static int go_with_error(const struct api *api, const struct http_request *request,
                         struct http_response *response, const struct error *failure)
{
    buffer_auto location = BUFFER_INIT(LOCATION_MAX);
    json_auto_t *told = http_error_to_json(failure);
    bool is_ours = error_http_status(failure->code) >= 500;
    if (is_ours)
        log_warning(
            "cannot sign a user in through the identity provider; the console shows the error",
            LOG_ERROR(failure));
    buffer_printf(&location, "%s/sign-in#", api->settings->console_url);
    form_add(&location, "error", error_api_code(failure->code));
    form_add(&location, "message", json_string_value(json_object_get(told, "message")));
    form_add(&location, "request_id", request->request_id);
    return go(response, buffer_string(&location));
}

static int check_request(const struct api *api, const struct http_request *request,
                         struct error **err)
{
    if (console_check_host(request, err) < 0)
        return -1;
    return api->oidc ? 0
                     : error_set(err, ERR_NOT_FOUND, "This deployment has no identity provider.");
}

static int begin(struct api *api, struct http_request *request, struct http_response *response,
                 struct error **err)
{
    const char *path = http_query(request, "return");
    buffer_auto location = BUFFER_INIT(LOCATION_MAX), memory = BUFFER_INIT(OIDC_MEMORY_MAX);
    struct sign_in by = console_sign_in(api, request);
    if (path && !oidc_return_is_valid(path))
        return error_set_field(err, ERR_INVALID_REQUEST, "return",
                               "return must be a path of the console, of at most %d bytes.",
                               OIDC_RETURN_MAX);
    if (api_take_oidc_share(api, request, err) < 0 ||
        oidc_begin(&by, api->oidc, path ? path : "/", &location, &memory, err) < 0)
        return -1;
    http_response_header(response, "Set-Cookie", COOKIE "=%s; Max-Age=%d; " ATTRIBUTES,
                         buffer_string(&memory), OIDC_MEMORY_S);
    return go(response, buffer_string(&location));
}

int oidc_login(void *context, struct http_request *request, struct http_response *response,
               struct error **err)
{
    struct api *api = context;
    error_auto failure = NULL;
    if (check_request(api, request, err) < 0)
        return -1;
    if (begin(api, request, response, &failure) == 0)
        return 0;
    return go_with_error(api, request, response, failure);
}

static int finish(struct api *api, struct http_request *request, struct http_response *response,
                  struct error **err)
{
    autowipe char *memory = console_cookie_of(request, COOKIE);
    struct oidc_answer answer = {
        .code = http_query(request, "code"),
        .state = http_query(request, "state"),
        .issuer = http_query(request, "iss"),
        .error = http_query(request, "error"),
        .memory = memory,
    };
    struct sign_in by = console_sign_in(api, request);
    struct login login = {0};
    char text[SECRET_TEXT_SIZE], path[OIDC_RETURN_MAX + 1];
    act_signs_in(api, &login);
    if (api_take_oidc_share(api, request, err) < 0 ||
        oidc_finish(&by, api->oidc, &answer, &login, text, path, err) < 0)
        return -1;
    console_set_cookie(api, response, text);
    mem_wipe(text, sizeof text);
    autofree char *location = xasprintf("%s%s", api->settings->console_url, path);
    return go(response, location);
}

int oidc_callback(void *context, struct http_request *request, struct http_response *response,
                  struct error **err)
{
    struct api *api = context;
    error_auto failure = NULL;
    if (check_request(api, request, err) < 0)
        return -1;
    int result = finish(api, request, response, &failure);
    if (result < 0)
        result = go_with_error(api, request, response, failure);
    /* The cookie is valid for one return. */
    if (!request->must_wait)
        http_response_header(response, "Set-Cookie", COOKIE "=; Max-Age=0; " ATTRIBUTES);
    return result;
}
