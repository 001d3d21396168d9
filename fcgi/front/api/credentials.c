/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The credentials of a signed-in user: the password and the second factor. */
#include "api/console.h"
#include "base/mem.h"

int check_new_password(const json_t *value, const char *pointer, struct error **err)
{
    return credential_check_length(json_string_value(value), pointer, err);
}

const struct schema_member password_schema[] = {
    {.name = "old", .type = SCHEMA_STRING, .required = true, .min = 1, .max = PASSWORD_MAX},
    {.name = "new", .type = SCHEMA_STRING, .required = true, .check = check_new_password},
    {.name = NULL},
};

const struct schema_member totp_confirm_schema[] = {
    {.name = "code", .type = SCHEMA_STRING, .required = true, .min = 1, .max = CODE_MAX},
    {.name = NULL},
};

const struct schema_member password_only_schema[] = {
    {.name = "password", .type = SCHEMA_STRING, .required = true, .min = 1, .max = PASSWORD_MAX},
    {.name = NULL},
};

int password_put(void *context, struct http_request *request, struct http_response *response,
                 struct error **err)
{
    struct api *api = context;
    struct sign_in by = console_sign_in(api, request);
    if (api_take_password_share(api, request, err) < 0 ||
        sign_in_change_password(&by, api->login.user_id, api->login.id,
                                json_string_value(json_object_get(request->json, "old")),
                                json_string_value(json_object_get(request->json, "new")), err) < 0)
        return -1;
    response->status = 204;
    return 0;
}

/* Return the secret and its URL, which an authenticator application reads from a QR code. */
static json_t *totp_to_json(const struct login *login, const char *secret)
{
    autowipe char *url =
        xasprintf("otpauth://totp/sandlot:%s?secret=%s&issuer=sandlot", login->user_name, secret);
    return json_pack("{s:s, s:s}", "secret", secret, "url", url);
}

int totp_begin(void *context, struct http_request *request, struct http_response *response,
               struct error **err)
{
    struct api *api = context;
    struct credential credential;
    char secret[OTP_SECRET_SIZE];
    (void)request;
    if (credential_get_by_id(api->worker.db, api->login.user_id, &credential, err) < 0 ||
        credential_begin_totp(api->worker.db, api->worker.ring, &credential, secret, err) < 0)
        return -1;
    json_t *body = totp_to_json(&api->login, secret);
    mem_wipe(secret, sizeof secret);
    return http_response_json(response, 200, body);
}

int totp_confirm(void *context, struct http_request *request, struct http_response *response,
                 struct error **err)
{
    struct api *api = context;
    struct credential credential;
    char codes[RECOVERY_CODES][RECOVERY_CODE_SIZE];
    const char *code = json_string_value(json_object_get(request->json, "code"));
    if (credential_get_by_id(api->worker.db, api->login.user_id, &credential, err) < 0 ||
        credential_confirm_totp(api->worker.db, api->worker.ring, &credential, code, codes, err) <
            0)
        return -1;
    json_t *list = json_array();
    for (unsigned i = 0; i < RECOVERY_CODES; i++)
        json_array_append_new(list, json_string(codes[i]));
    mem_wipe(codes, sizeof codes);
    return http_response_json(response, 200, json_pack("{s:o}", "recovery_codes", list));
}

int totp_end(void *context, struct http_request *request, struct http_response *response,
             struct error **err)
{
    struct api *api = context;
    struct credential credential;
    struct sign_in by = console_sign_in(api, request);
    const char *password = json_string_value(json_object_get(request->json, "password"));
    if (api_take_password_share(api, request, err) < 0 ||
        sign_in_ask_password(&by, api->login.user_id, password, "/password", &credential, err) <
            0 ||
        credential_end_totp(api->worker.db, &credential, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}
