/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "login/oidc_provider.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/client.h"
#include "login/form.h"

#define ANSWER_MAX         (256u << 10)
#define FORM_MAX           16384
#define TIMEOUT_MS         5000
#define CONNECT_TIMEOUT_MS 3000
#define KEPT_MS            3600000
#define KEYS_AGAIN_MS      60000
#define SECRET_MAX         1024

struct oidc_provider {
    const struct settings *settings;
    CURL *curl;
    json_t *metadata, *keys;
    int64_t metadata_at_ms, keys_at_ms; /* monotonic, as the next one */
    int64_t keys_again_at_ms;           /* when an unknown key last caused a fetch; 0: never */
};

struct oidc_provider *oidc_provider_new(const struct settings *settings)
{
    if (!*settings->oidc_issuer || !*settings->console_url)
        return NULL;
    struct oidc_provider *provider = xcalloc(1, sizeof *provider);
    provider->settings = settings;
    return provider;
}

void oidc_provider_free(struct oidc_provider *provider)
{
    if (!provider)
        return;
    json_decref(provider->metadata);
    json_decref(provider->keys);
    if (provider->curl)
        curl_easy_cleanup(provider->curl);
    free(provider);
}

/* --- requests --- */

struct call {
    const char *url;
    const char *form;            /* body of a POST; NULL: a GET */
    const char *user, *password; /* NULL: none */
    struct buffer answer;
    long status;
};

static void set_options(struct oidc_provider *provider, struct call *call)
{
    CURL *curl = http_client_handle(&provider->curl);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)TIMEOUT_MS);
    curl_easy_setopt(curl, CURLOPT_URL, call->url);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, http_client_collect);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &call->answer);
    if (*provider->settings->oidc_ca_file)
        curl_easy_setopt(curl, CURLOPT_CAINFO, provider->settings->oidc_ca_file);
    if (call->form)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call->form);
    if (call->user) {
        curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        curl_easy_setopt(curl, CURLOPT_USERNAME, call->user);
        curl_easy_setopt(curl, CURLOPT_PASSWORD, call->password);
    }
}

/* Return the answer as an object, with any status. The connection is closed: such requests are
 * rare. */
static int perform(struct oidc_provider *provider, struct call *call, json_t **json,
                   struct error **err)
{
    buffer_init(&call->answer, ANSWER_MAX);
    set_options(provider, call);
    CURLcode code = curl_easy_perform(provider->curl);
    curl_easy_getinfo(provider->curl, CURLINFO_RESPONSE_CODE, &call->status);
    curl_easy_cleanup(provider->curl);
    provider->curl = NULL;
    *json = code == CURLE_OK ? json_read(buffer_string(&call->answer), call->answer.size, 0, NULL)
                             : NULL;
    buffer_wipe(&call->answer);
    if (code != CURLE_OK)
        return error_set(err, ERR_RUNTIME_UNAVAILABLE,
                         "Cannot connect to the identity provider: %s.", curl_easy_strerror(code));
    if (json_is_object(*json))
        return 0;
    json_decref(*json);
    *json = NULL;
    return error_set(err, ERR_RUNTIME_UNAVAILABLE,
                     "The identity provider answered %ld, without a JSON object.", call->status);
}

static int get(struct oidc_provider *provider, const char *url, json_t **json, struct error **err)
{
    struct call call = {.url = url};
    if (perform(provider, &call, json, err) < 0)
        return -1;
    if (call.status == 200)
        return 0;
    json_decref(*json);
    *json = NULL;
    return error_set(err, ERR_RUNTIME_UNAVAILABLE, "The identity provider answered %ld for %s.",
                     call.status, url);
}

/* --- metadata --- */

static bool is_fresh(const json_t *kept, int64_t at_ms, int64_t for_ms)
{
    return kept && clock_monotonic_ms() - at_ms < for_ms;
}

static const char *endpoint_of(const json_t *metadata, const char *name)
{
    const char *url = json_string_value(json_object_get(metadata, name));
    return url && str_starts_with(url, "https://") ? url : NULL;
}

/* Check the metadata. Tokens carry the issuer's name, so it must be that of the settings. */
static int check_metadata(const struct oidc_provider *provider, const json_t *metadata,
                          struct error **err)
{
    if (!str_equal(json_string_value(json_object_get(metadata, "issuer")),
                   provider->settings->oidc_issuer))
        return error_set(
            err, ERR_RUNTIME_UNAVAILABLE,
            "The identity provider's configuration has another issuer than oidc_issuer.");
    if (!endpoint_of(metadata, "authorization_endpoint") ||
        !endpoint_of(metadata, "token_endpoint") || !endpoint_of(metadata, "jwks_uri"))
        return error_set(err, ERR_RUNTIME_UNAVAILABLE,
                         "The identity provider's configuration lacks an HTTPS address.");
    return 0;
}

static int discover(struct oidc_provider *provider, struct error **err)
{
    const char *issuer = provider->settings->oidc_issuer;
    size_t length = strlen(issuer);
    json_auto_t *metadata = NULL;
    if (is_fresh(provider->metadata, provider->metadata_at_ms, KEPT_MS))
        return 0;
    /* A slash at the end belongs to the name, and is not doubled. */
    autofree char *url =
        xasprintf("%.*s/.well-known/openid-configuration",
                  (int)(length && issuer[length - 1] == '/' ? length - 1 : length), issuer);
    if (get(provider, url, &metadata, err) < 0 || check_metadata(provider, metadata, err) < 0)
        return -1;
    json_decref(provider->metadata);
    provider->metadata = steal_pointer(&metadata);
    provider->metadata_at_ms = clock_monotonic_ms();
    return 0;
}

int oidc_provider_authorization(struct oidc_provider *provider, const char **endpoint,
                                struct error **err)
{
    if (discover(provider, err) < 0)
        return -1;
    *endpoint = endpoint_of(provider->metadata, "authorization_endpoint");
    return 0;
}

/* --- keys --- */

static bool has_key(const json_t *keys, const char *key_id)
{
    const json_t *list = json_object_get(keys, "keys");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!*key_id ||
            str_equal(json_string_value(json_object_get(json_array_get(list, i), "kid")), key_id))
            return true;
    return false;
}

/* Return whether to fetch the keys: none yet, old ones, or an unknown key. Unknown keys cause a
 * fetch only once in KEYS_AGAIN_MS, so that clients cannot repeat it. */
static bool needs_keys(struct oidc_provider *provider, const char *key_id)
{
    if (!is_fresh(provider->keys, provider->keys_at_ms, KEPT_MS))
        return true;
    if (has_key(provider->keys, key_id) ||
        (provider->keys_again_at_ms &&
         clock_monotonic_ms() - provider->keys_again_at_ms < KEYS_AGAIN_MS))
        return false;
    provider->keys_again_at_ms = clock_monotonic_ms();
    return true;
}

int oidc_provider_keys(struct oidc_provider *provider, const char *key_id, const json_t **keys,
                       struct error **err)
{
    json_auto_t *fetched = NULL;
    if (discover(provider, err) < 0)
        return -1;
    if (needs_keys(provider, key_id)) {
        if (get(provider, endpoint_of(provider->metadata, "jwks_uri"), &fetched, err) < 0)
            return -1;
        json_decref(provider->keys);
        provider->keys = steal_pointer(&fetched);
        provider->keys_at_ms = clock_monotonic_ms();
    }
    *keys = provider->keys;
    return 0;
}

/* --- codes --- */

/* Read the client's secret. "": a client without one. Errors: ERR_CONFIG. */
static int read_secret(const char *path, char secret[SECRET_MAX], struct error **err)
{
    autofclose FILE *file = NULL;
    secret[0] = '\0';
    if (!*path)
        return 0;
    file = fopen(path, "re");
    if (!file || !fgets(secret, SECRET_MAX, file))
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read oidc_client_secret_file");
    secret[strcspn(secret, "\r\n")] = '\0';
    return 0;
}

static bool wants_secret_in_form(const json_t *metadata)
{
    const json_t *methods = json_object_get(metadata, "token_endpoint_auth_methods_supported");
    bool basic = !methods, post = false;
    for (size_t i = 0; i < json_array_size(methods); i++) {
        const char *method = json_string_value(json_array_get(methods, i));
        basic |= str_equal(method, "client_secret_basic");
        post |= str_equal(method, "client_secret_post");
    }
    return post && !basic;
}

/* RFC 6749, section 2.3.1: form-encode name and secret before using them for HTTP Basic. */
static int ask_for_token(struct oidc_provider *provider, struct buffer *form, const char *secret,
                         json_t **answer, struct error **err)
{
    const char *client_id = provider->settings->oidc_client_id;
    struct buffer user = BUFFER_INIT(FORM_MAX), password = BUFFER_INIT(FORM_MAX);
    struct call call = {.url = endpoint_of(provider->metadata, "token_endpoint")};
    if (!*secret || wants_secret_in_form(provider->metadata)) {
        form_add(form, "client_id", client_id);
        if (*secret)
            form_add(form, "client_secret", secret);
    } else {
        form_encode(&user, client_id);
        form_encode(&password, secret);
        call.user = buffer_string(&user);
        call.password = buffer_string(&password);
    }
    call.form = buffer_string(form);
    int result = perform(provider, &call, answer, err);
    if (result == 0 && call.status != 200) {
        const char *why = json_string_value(json_object_get(*answer, "error"));
        result = error_set(err, ERR_INVALID_CREDENTIALS,
                           "The identity provider refused the code of this sign-in: %s.",
                           why && str_is_utf8(why, strlen(why)) ? why : "it gave no reason");
    }
    buffer_wipe(&user);
    buffer_wipe(&password);
    return result;
}

static int take_token(const json_t *answer, char **token, struct error **err)
{
    const char *text = json_string_value(json_object_get(answer, "id_token"));
    if (!text)
        return error_set(
            err, ERR_INVALID_CREDENTIALS,
            "The identity provider sent no ID token. Check that it supports the scope openid.");
    *token = xstrdup(text);
    return 0;
}

int oidc_provider_exchange(struct oidc_provider *provider, const char *code, const char *verifier,
                           const char *redirect_uri, char **token, struct error **err)
{
    struct buffer form = BUFFER_INIT(FORM_MAX);
    char secret[SECRET_MAX];
    json_auto_t *answer = NULL;
    if (discover(provider, err) < 0 ||
        read_secret(provider->settings->oidc_client_secret_file, secret, err) < 0)
        return -1;
    form_add(&form, "grant_type", "authorization_code");
    form_add(&form, "code", code);
    form_add(&form, "redirect_uri", redirect_uri);
    form_add(&form, "code_verifier", verifier);
    int result = ask_for_token(provider, &form, secret, &answer, err);
    if (result == 0)
        result = take_token(answer, token, err);
    mem_wipe(secret, sizeof secret);
    buffer_wipe(&form);
    return result;
}
