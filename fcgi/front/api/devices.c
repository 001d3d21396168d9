/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs sign in as a user who confirms a code in the console (RFC 8628, with JSON bodies). */
#include "api/console.h"
#include "api/key_view.h"
#include "api/sandbox_output.h"
#include "base/log.h"
#include "base/mem.h"
#include "login/device.h"

#define GRANT_TYPE "urn:ietf:params:oauth:grant-type:device_code"

static const char *const grant_choices[] = {GRANT_TYPE, NULL};

const struct schema_member device_schema[] = {
    {.name = "client_name",
     .type = SCHEMA_STRING,
     .required = true,
     .min = 1,
     .max = DEVICE_CLIENT_MAX},
    {.name = NULL},
};

const struct schema_member device_token_schema[] = {
    {.name = "device_code", .type = SCHEMA_STRING, .required = true, .min = 1, .max = 256},
    {.name = "grant_type", .type = SCHEMA_STRING, .choices = grant_choices},
    {.name = NULL},
};

const struct schema_member device_decide_schema[] = {
    {.name = "approve", .type = SCHEMA_BOOLEAN, .required = true},
    {.name = "password", .type = SCHEMA_STRING, .min = 1, .max = PASSWORD_MAX},
    {.name = NULL},
};

int device_authorize(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    struct api *api = context;
    const char *console = api->settings->console_url;
    struct device device;
    char text[SECRET_TEXT_SIZE];
    if (!*console)
        return error_set(
            err, ERR_NOT_FOUND,
            "This deployment has no console to confirm the code; log in with an API key.");
    if (device_begin(api->worker.db, api->worker.ring,
                     json_string_value(json_object_get(request->json, "client_name")),
                     request->remote_address, &device, text, err) < 0)
        return -1;
    autofree char *page = xasprintf("%s/device", console);
    autofree char *whole = xasprintf("%s?code=%s", page, device.user_code);
    json_t *body =
        json_pack("{s:s, s:s, s:s, s:s, s:i, s:i}", "device_code", text, "user_code",
                  device.user_code, "verification_uri", page, "verification_uri_complete", whole,
                  "expires_in", DEVICE_TTL_S, "interval", DEVICE_INTERVAL_S);
    mem_wipe(text, sizeof text);
    return http_response_json(response, 200, body);
}

/* Record the new key as an act of the user: the program has only shown the secret. */
static void record_key(struct api *api, const struct http_request *request,
                       const struct api_key *key, const struct device_user *user)
{
    error_auto err = NULL;
    struct audit_entry entry = {.actor = AUDIT_SESSION, .result = AUDIT_DONE};
    snprintf(entry.action, sizeof entry.action, "%s", audit_KEY_CREATE.name);
    snprintf(entry.resource, sizeof entry.resource, "%s", key->id);
    snprintf(entry.user_id, sizeof entry.user_id, "%s", user->id);
    snprintf(entry.team_id, sizeof entry.team_id, "%s", user->personal_team_id);
    snprintf(entry.address, sizeof entry.address, "%s", request->remote_address);
    snprintf(entry.request_id, sizeof entry.request_id, "%s", request->request_id);
    if (audit_write(api->worker.db, api->worker.ring, &entry, &err) < 0)
        log_error("cannot record a new key in the audit log", LOG_STR("key", key->id),
                  LOG_ERROR(err));
}

int device_token(void *context, struct http_request *request, struct http_response *response,
                 struct error **err)
{
    struct api *api = context;
    struct api_key key;
    struct device_user user;
    char text[API_KEY_TEXT_SIZE];
    const char *code = json_string_value(json_object_get(request->json, "device_code"));
    if (device_take_key(api->worker.db, api->worker.ring, api->settings, code, &key, text, &user,
                        err) < 0)
        return -1;
    record_key(api, request, &key, &user);
    log_info("a program got a key after a user confirmed its login", LOG_STR("key", key.id),
             LOG_STR("address", request->remote_address));
    json_t *body = json_pack("{s:s, s:s, s:o}", "access_token", text, "token_type", "Bearer", "key",
                             key_to_json(&key));
    mem_wipe(text, sizeof text);
    api_key_deinit(&key);
    return http_response_json(response, 200, body);
}

int device_show(void *context, struct http_request *request, struct http_response *response,
                struct error **err)
{
    struct api *api = context;
    struct device device;
    if (device_find(api->worker.db, api->login.user_name, request->captures[0], &device, err) < 0)
        return -1;
    return http_response_json(response, 200,
                              json_pack("{s:s, s:s, s:s, s:o, s:o}", "user_code", device.user_code,
                                        "client_name", device.client, "address", device.address,
                                        "created_at", time_to_json(device.created_at_ms),
                                        "expires_at", time_to_json(device.expires_at_ms)));
}

int device_answer(void *context, struct http_request *request, struct http_response *response,
                  struct error **err)
{
    struct api *api = context;
    struct device_answer answer = {
        .user_id = api->login.user_id,
        .user_name = api->login.user_name,
        .is_approved = json_is_true(json_object_get(request->json, "approve")),
    };
    if ((answer.is_approved && key_read_binding(api, request, &answer.login_id, err) < 0) ||
        device_decide(api->worker.db, &answer, request->captures[0], err) < 0)
        return -1;
    response->status = 204;
    return 0;
}
