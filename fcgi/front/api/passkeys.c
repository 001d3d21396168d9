/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Users sign in with passkeys, and manage theirs. */
#include "login/passkey.h"

#include <stdio.h>
#include <string.h>

#include "api/act.h"
#include "api/console.h"
#include "api/sandbox_output.h"
#include "base/log.h"
#include "base/mem.h"

/* The challenge of this browser, sealed. */
#define COOKIE "__Host-sandlot_passkey"

#define BASE64_FIELD(name_, bytes)                                        \
    {                                                                     \
        .name = name_, .type = SCHEMA_STRING, .required = true, .min = 1, \
        .max = BASE64_SIZE(bytes) - 1                                     \
    }
#define NAME_FIELD                                                                             \
    {                                                                                          \
        .name = "name", .type = SCHEMA_STRING, .required = true, .characters = true, .min = 1, \
        .max = PASSKEY_NAME_MAX                                                                \
    }

const struct schema_member passkey_login_schema[] = {
    BASE64_FIELD("credential_id", PASSKEY_ID_MAX),
    BASE64_FIELD("user_handle", PASSKEY_USER_MAX),
    BASE64_FIELD("client_data", PASSKEY_DATA_MAX),
    BASE64_FIELD("authenticator_data", PASSKEY_DATA_MAX),
    BASE64_FIELD("signature", PASSKEY_SIGNATURE_MAX),
    {.name = NULL},
};

const struct schema_member passkey_add_schema[] = {
    NAME_FIELD,
    BASE64_FIELD("client_data", PASSKEY_DATA_MAX),
    BASE64_FIELD("authenticator_data", PASSKEY_DATA_MAX),
    {.name = NULL},
};

const struct schema_member passkey_rename_schema[] = {NAME_FIELD, {.name = NULL}};

static const char *text_of(const struct http_request *request, const char *name)
{
    return json_string_value(json_object_get(request->json, name));
}

static int check_console(const struct api *api, const struct http_request *request,
                         struct error **err)
{
    return console_check_host(request, err) < 0 ? -1 : console_check_origin(api, request, err);
}

/* Set the cookie, and return what both kinds of challenges have. */
static json_t *challenge_to_json(const struct api *api, struct passkey_challenge *challenge,
                                 struct http_response *response)
{
    autofree char *host = settings_console_host(api->settings);
    http_response_header(response, "Set-Cookie",
                         COOKIE "=%s; Max-Age=%d; " CONSOLE_COOKIE_ATTRIBUTES,
                         buffer_string(&challenge->memory), PASSKEY_CHALLENGE_S);
    buffer_deinit(&challenge->memory);
    return json_pack("{s:s, s:s, s:i}", "challenge", challenge->text, "rp_id", host, "timeout_s",
                     PASSKEY_CHALLENGE_S);
}

/* --- sign-in --- */

int passkey_login_begin(void *context, struct http_request *request, struct http_response *response,
                        struct error **err)
{
    struct api *api = context;
    struct passkey_challenge challenge;
    struct sign_in by = console_sign_in(api, request);
    if (check_console(api, request, err) < 0 || passkey_begin_sign_in(&by, &challenge, err) < 0)
        return -1;
    return http_response_json(response, 200, challenge_to_json(api, &challenge, response));
}

/* Somebody may have copied the passkey, so operators must see it; the refusal itself changes
 * nothing, and has no entry. */
static void record_copied(struct api *api, const struct http_request *request, const char *id,
                          const char *user_id)
{
    error_auto err = NULL;
    struct audit_entry entry = {.actor = AUDIT_SESSION, .result = AUDIT_REFUSED};
    snprintf(entry.action, sizeof entry.action, "%s", audit_LOGIN_BEGIN.name);
    snprintf(entry.resource, sizeof entry.resource, "%s", id);
    snprintf(entry.user_id, sizeof entry.user_id, "%s", user_id);
    snprintf(entry.address, sizeof entry.address, "%s", request->remote_address);
    snprintf(entry.request_id, sizeof entry.request_id, "%s", request->request_id);
    snprintf(entry.error, sizeof entry.error, "%s", error_api_code(ERR_INVALID_CREDENTIALS));
    if (audit_write(api->worker.db, api->worker.ring, &entry, &err) < 0)
        log_error("cannot record a passkey whose counter went back in the audit log",
                  LOG_STR("passkey", id), LOG_ERROR(err));
}

int passkey_login(void *context, struct http_request *request, struct http_response *response,
                  struct error **err)
{
    struct api *api = context;
    struct login login = {0};
    char text[SECRET_TEXT_SIZE], copied[ID_SIZE];
    autowipe char *memory = console_cookie_of(request, COOKIE);
    struct passkey_sign_in sent = {
        .memory = memory,
        .credential_id = text_of(request, "credential_id"),
        .user_handle = text_of(request, "user_handle"),
        .answer = {text_of(request, "client_data"), text_of(request, "authenticator_data"),
                   text_of(request, "signature")},
    };
    struct sign_in by = console_sign_in(api, request);
    if (check_console(api, request, err) < 0)
        return -1;
    act_signs_in(api, &login);
    int result = passkey_sign_in(&by, &sent, &login, text, copied, err);
    if (*copied)
        record_copied(api, request, copied, login.user_id);
    return result < 0 ? -1 : console_answer_login(api, &login, text, response);
}

/* --- a user's passkeys --- */

static json_t *passkey_to_json(const struct passkey *passkey)
{
    return json_pack("{s:s, s:s, s:o, s:o}", "id", passkey->id, "name", passkey->name, "created_at",
                     time_to_json(passkey->created_at_ms), "last_used_at",
                     time_to_json(passkey->last_used_at_ms));
}

int passkeys_list(void *context, struct http_request *request, struct http_response *response,
                  struct error **err)
{
    struct api *api = context;
    autofree struct passkey *passkeys = NULL;
    unsigned count;
    (void)request;
    if (passkey_list(api->worker.db, api->login.user_id, &passkeys, &count, err) < 0)
        return -1;
    json_t *items = JSON_LIST(passkeys, count, passkey_to_json);
    return http_response_json(response, 200, json_pack("{s:o}", "items", items));
}

/* Return the user, the credentials that an authenticator has already, and the algorithms. */
static void add_creation(json_t *body, const struct login *login, const struct passkey *passkeys,
                         unsigned count)
{
    char text[BASE64_SIZE(PASSKEY_ID_MAX)], handle[BASE64_SIZE(ID_SIZE)];
    json_t *exclude = json_array(), *algorithms = json_array();
    for (unsigned i = 0; i < count; i++) {
        base64url_encode(passkeys[i].key.id, passkeys[i].key.id_size, text);
        json_array_append_new(exclude, json_string(text));
    }
    for (unsigned i = 0; i < PASSKEY_ALGORITHMS; i++)
        json_array_append_new(algorithms, json_integer(passkey_algorithms[i]));
    base64url_encode(login->user_id, strlen(login->user_id), handle);
    json_object_set_new(body, "user_handle", json_string(handle));
    json_object_set_new(body, "user_name", json_string(login->user_name));
    json_object_set_new(body, "exclude", exclude);
    json_object_set_new(body, "algorithms", algorithms);
}

int passkeys_begin(void *context, struct http_request *request, struct http_response *response,
                   struct error **err)
{
    struct api *api = context;
    autofree struct passkey *passkeys = NULL;
    unsigned count;
    struct passkey_challenge challenge;
    struct sign_in by = console_sign_in(api, request);
    if (api_take_password_share(api, request, err) < 0 ||
        passkey_list(api->worker.db, api->login.user_id, &passkeys, &count, err) < 0 ||
        passkey_begin_add(&by, &api->login, text_of(request, "password"), &challenge, err) < 0)
        return -1;
    json_t *body = challenge_to_json(api, &challenge, response);
    add_creation(body, &api->login, passkeys, count);
    return http_response_json(response, 200, body);
}

int passkeys_add(void *context, struct http_request *request, struct http_response *response,
                 struct error **err)
{
    struct api *api = context;
    struct passkey passkey = {0};
    autowipe char *memory = console_cookie_of(request, COOKIE);
    struct passkey_answer answer = {text_of(request, "client_data"),
                                    text_of(request, "authenticator_data"), NULL};
    struct sign_in by = console_sign_in(api, request);
    api->audit.resource = passkey.id;
    if (passkey_add(&by, &api->login, memory, text_of(request, "name"), &answer, &passkey, err) < 0)
        return -1;
    return http_response_json(response, 201, passkey_to_json(&passkey));
}

int passkeys_rename(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    if (passkey_rename(api->worker.db, api->login.user_id, request->captures[0],
                       text_of(request, "name"), err) < 0)
        return -1;
    response->status = 204;
    return 0;
}

int passkeys_delete(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    struct sign_in by = console_sign_in(api, request);
    if (api_take_password_share(api, request, err) < 0 ||
        passkey_remove(&by, api->login.user_id, request->captures[0], text_of(request, "password"),
                       err) < 0)
        return -1;
    response->status = 204;
    return 0;
}
