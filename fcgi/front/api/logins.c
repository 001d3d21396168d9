/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Users sign in and out, and list their sign-ins. */
#include <string.h>

#include "account/member.h"
#include "api/act.h"
#include "api/console.h"
#include "api/sandbox_output.h"
#include "base/mem.h"
#include "login/address_list.h"

const struct schema_member login_schema[] = {
    {.name = "name", .type = SCHEMA_STRING, .required = true, .min = 1, .max = SLUG_MAX},
    {.name = "password", .type = SCHEMA_STRING, .required = true, .min = 1, .max = PASSWORD_MAX},
    {.name = "code", .type = SCHEMA_STRING, .min = 1, .max = CODE_MAX},
    {.name = NULL},
};

const struct schema_member invite_schema[] = {
    {.name = "token", .type = SCHEMA_STRING, .required = true, .min = 1, .max = 256},
    {.name = "password", .type = SCHEMA_STRING, .required = true, .check = check_new_password},
    {.name = NULL},
};

const struct schema_member sign_up_schema[] = {
    {.name = "token", .type = SCHEMA_STRING, .required = true, .min = 1, .max = 256},
    {.name = "name", .type = SCHEMA_STRING, .required = true, .min = 1, .max = SLUG_MAX},
    {.name = "password", .type = SCHEMA_STRING, .required = true, .check = check_new_password},
    {.name = NULL},
};

/* Return the user that a trusted proxy names, or NULL. */
static const char *named_user(const struct api *api, const struct http_request *request)
{
    const struct settings *settings = api->settings;
    if (!*settings->login_header ||
        !address_list_has(settings->login_header_from, request->peer_address))
        return NULL;
    return http_header(request, settings->login_header);
}

int login_show(void *context, struct http_request *request, struct http_response *response,
               struct error **err)
{
    const struct api *api = context;
    if (console_check_host(request, err) < 0)
        return -1;
    json_t *oidc = api->oidc ? json_pack("{s:s}", "name", api->settings->oidc_name) : json_null();
    return http_response_json(response, 200,
                              json_pack("{s:b, s:o, s:b}", "password", 1, "oidc", oidc, "header",
                                        named_user(api, request) != NULL));
}

/* Check the origin first: a page of another origin must not sign in a user or make the worker hash
 * a password. */
static int check_request(struct api *api, struct http_request *request, struct error **err)
{
    if (console_check_host(request, err) < 0 || console_check_origin(api, request, err) < 0)
        return -1;
    return api_take_password_share(api, request, err);
}

int login_create(void *context, struct http_request *request, struct http_response *response,
                 struct error **err)
{
    struct api *api = context;
    struct login login = {0};
    char text[SECRET_TEXT_SIZE];
    const json_t *body = request->json;
    if (check_request(api, request, err) < 0)
        return -1;
    struct sign_in by = console_sign_in(api, request);
    act_signs_in(api, &login);
    if (sign_in_with_password(&by, json_string_value(json_object_get(body, "name")),
                              json_string_value(json_object_get(body, "password")),
                              json_string_value(json_object_get(body, "code")), &login, text,
                              err) < 0)
        return -1;
    return console_answer_login(api, &login, text, response);
}

int header_login(void *context, struct http_request *request, struct http_response *response,
                 struct error **err)
{
    struct api *api = context;
    struct login login = {0};
    char text[SECRET_TEXT_SIZE];
    const char *name = named_user(api, request);
    if (console_check_host(request, err) < 0 || console_check_origin(api, request, err) < 0)
        return -1;
    if (!name)
        return error_set(err, ERR_INVALID_CREDENTIALS,
                         "The request did not come through a proxy of login_header_from, or the "
                         "proxy sent no user.");
    struct sign_in by = console_sign_in(api, request);
    act_signs_in(api, &login);
    if (sign_in_as_named(&by, name, &login, text, err) < 0)
        return -1;
    return console_answer_login(api, &login, text, response);
}

/* Return NULL with *err set if the teams cannot be read. */
static json_t *invite_to_json(struct db *db, const struct invite *invite, struct error **err)
{
    autofree struct membership *memberships = NULL;
    unsigned count;
    if (membership_list(db, invite->credential.user_id, &memberships, &count, err) < 0)
        return NULL;
    json_t *teams = json_array();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(teams, json_pack("{s:s, s:s}", "team", memberships[i].team_slug,
                                               "role", team_role_name(memberships[i].role)));
    return json_pack("{s:s, s:o, s:o}", "name", invite->credential.user_name, "teams", teams,
                     "expires_at", time_to_json(invite->expires_at_ms));
}

int invites_show(void *context, struct http_request *request, struct http_response *response,
                 struct error **err)
{
    struct api *api = context;
    struct invite invite = {0};
    json_t *body = NULL;
    struct sign_in by = console_sign_in(api, request);
    if (sign_in_find_invite(&by, json_string_value(json_object_get(request->json, "token")),
                            &invite, err) == 0)
        body = invite_to_json(api->worker.db, &invite, err);
    mem_wipe(&invite, sizeof invite);
    return body ? http_response_json(response, 200, body) : -1;
}

int invites_accept(void *context, struct http_request *request, struct http_response *response,
                   struct error **err)
{
    struct api *api = context;
    struct login login = {0};
    char text[SECRET_TEXT_SIZE];
    if (check_request(api, request, err) < 0)
        return -1;
    struct sign_in by = console_sign_in(api, request);
    act_signs_in(api, &login);
    if (sign_in_with_invite(&by, json_string_value(json_object_get(request->json, "token")),
                            json_string_value(json_object_get(request->json, "password")), &login,
                            text, err) < 0)
        return -1;
    return console_answer_login(api, &login, text, response);
}

int sign_up(void *context, struct http_request *request, struct http_response *response,
            struct error **err)
{
    struct api *api = context;
    struct login login = {0};
    struct team_link link;
    char text[SECRET_TEXT_SIZE];
    const json_t *body = request->json;
    const char *name = json_string_value(json_object_get(body, "name"));
    if (check_request(api, request, err) < 0)
        return -1;
    struct sign_in by = console_sign_in(api, request);
    if (sign_in_find_link(&by, json_string_value(json_object_get(body, "token")), &link, err) < 0)
        return -1;
    if (!console_lets_sign_up(api))
        return error_set(
            err, ERR_INVALID_REQUEST,
            "Links cannot create users in this deployment; ask an operator for a user.");
    act_signs_in(api, &login);
    memcpy(api->audit.entry.team_id, link.team_id, sizeof api->audit.entry.team_id);
    audit_about(&api->audit, name);
    if (sign_in_as_new_member(&by, &link, name,
                              json_string_value(json_object_get(body, "password")), &login, text,
                              err) < 0)
        return -1;
    return console_answer_login(api, &login, text, response);
}

int logout(void *context, struct http_request *request, struct http_response *response,
           struct error **err)
{
    struct api *api = context;
    (void)request;
    if (login_end(api->worker.db, api->login.user_id, api->login.id, err) < 0)
        return -1;
    console_clear_cookie(response);
    response->status = 204;
    return 0;
}

int logins_list(void *context, struct http_request *request, struct http_response *response,
                struct error **err)
{
    struct api *api = context;
    autofree struct login *logins = NULL;
    unsigned count;
    (void)request;
    if (login_list(api->worker.db, api->principal.user_id, &logins, &count, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(rows, console_login_to_json(&logins[i], &api->login));
    return http_response_json(response, 200, json_pack("{s:o}", "items", rows));
}

int logins_delete(void *context, struct http_request *request, struct http_response *response,
                  struct error **err)
{
    struct api *api = context;
    const char *id = request->captures[0];
    if (!id_is_valid("lgn_", id))
        return error_set(err, ERR_NOT_FOUND, "There is no such sign-in.");
    if (login_end(api->worker.db, api->principal.user_id, id, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}
