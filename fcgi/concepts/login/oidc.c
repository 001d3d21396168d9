/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "login/oidc.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/aead.h"
#include "crypto/mac.h"
#include "login/form.h"
#include "login/identity.h"
#include "login/oidc_token.h"

#define RANDOM_BYTES 32
#define RANDOM_SIZE  BASE64_SIZE(RANDOM_BYTES)
#define SEALED_AS    "openid connect"
#define PLAIN_MAX    1024

/* --- the cookie --- */

struct memory {
    int64_t ends_at_ms;
    char state[RANDOM_SIZE], nonce[RANDOM_SIZE], verifier[RANDOM_SIZE];
    char path[OIDC_RETURN_MAX + 1];
};

static void new_random(char out[RANDOM_SIZE])
{
    unsigned char bytes[RANDOM_BYTES];
    random_fill(bytes, sizeof bytes);
    base64url_encode(bytes, sizeof bytes, out);
    mem_wipe(bytes, sizeof bytes);
}

static int seal(const struct keyring *ring, const struct memory *memory, struct buffer *out,
                struct error **err)
{
    struct buffer plain = BUFFER_INIT(PLAIN_MAX);
    buffer_auto sealed = BUFFER_INIT(2 * PLAIN_MAX);
    buffer_printf(&plain, "%" PRId64 " %s %s %s %s", memory->ends_at_ms, memory->state,
                  memory->nonce, memory->verifier, memory->path);
    int result = aead_seal(ring, buffer_string(&plain), plain.size, SEALED_AS, &sealed, err);
    buffer_wipe(&plain);
    if (result < 0)
        return -1;
    autofree char *text = xmalloc(BASE64_SIZE(sealed.size));
    base64url_encode(sealed.data, sealed.size, text);
    buffer_append_string(out, text);
    return 0;
}

static int forgotten(struct error **err)
{
    return error_set(err, ERR_INVALID_CREDENTIALS,
                     "This sign-in was started in another browser, or took too long; start again.");
}

/* The path is last, because it may contain blanks. */
static bool parse(const char *plain, struct memory *memory)
{
    int at = 0;
    /* 43 is RANDOM_SIZE - 1 */
    return sscanf(plain, "%" SCNd64 " %43s %43s %43s %n", &memory->ends_at_ms, memory->state,
                  memory->nonce, memory->verifier, &at) == 4 &&
           at && snprintf(memory->path, sizeof memory->path, "%s", plain + at) <= OIDC_RETURN_MAX;
}

static int open_memory(const struct keyring *ring, const char *text, struct memory *memory,
                       struct error **err)
{
    unsigned char sealed[OIDC_MEMORY_MAX];
    struct buffer plain = BUFFER_INIT(PLAIN_MAX);
    error_auto broken = NULL;
    int size = text ? base64url_decode(text, sealed, sizeof sealed) : -1;
    bool good = size > 0 &&
                aead_open(ring, sealed, (size_t)size, SEALED_AS, &plain, &broken) == 0 &&
                parse(buffer_string(&plain), memory) && memory->ends_at_ms > clock_now_ms();
    buffer_wipe(&plain);
    return good ? 0 : forgotten(err);
}

/* --- to the provider --- */

bool oidc_return_is_valid(const char *path)
{
    for (const char *c = path; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f || *c == '\\')
            return false;
    return path[0] == '/' && path[1] != '/' && strlen(path) <= OIDC_RETURN_MAX;
}

static char *redirect_uri_of(const struct settings *settings)
{
    return xasprintf("%s/v1/login/oidc/callback", settings->console_url);
}

static void write_location(const struct settings *settings, const char *endpoint,
                           const struct memory *memory, struct buffer *out)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char challenge[BASE64_SIZE(sizeof hash)];
    autofree char *redirect_uri = redirect_uri_of(settings);
    crypto_hash_sha256(hash, (const unsigned char *)memory->verifier, strlen(memory->verifier));
    base64url_encode(hash, sizeof hash, challenge);
    buffer_printf(out, "%s%s", endpoint, strchr(endpoint, '?') ? "&" : "?");
    form_add(out, "response_type", "code");
    form_add(out, "client_id", settings->oidc_client_id);
    form_add(out, "redirect_uri", redirect_uri);
    form_add(out, "scope", settings->oidc_scopes);
    form_add(out, "state", memory->state);
    form_add(out, "nonce", memory->nonce);
    form_add(out, "code_challenge", challenge);
    form_add(out, "code_challenge_method", "S256");
}

int oidc_begin(const struct sign_in *by, struct oidc_provider *provider, const char *return_path,
               struct buffer *location, struct buffer *memory_text, struct error **err)
{
    const char *endpoint;
    struct memory memory = {.ends_at_ms = clock_in_s(OIDC_MEMORY_S)};
    if (oidc_provider_authorization(provider, &endpoint, err) < 0)
        return -1;
    new_random(memory.state);
    new_random(memory.nonce);
    new_random(memory.verifier);
    snprintf(memory.path, sizeof memory.path, "%s", return_path);
    write_location(by->settings, endpoint, &memory, location);
    int result = seal(by->ring, &memory, memory_text, err);
    mem_wipe(&memory, sizeof memory);
    if (result == 0 && (buffer_overflowed(location) || buffer_overflowed(memory_text)))
        return error_set(err, ERR_CONFIG, "the address of the identity provider is too long");
    return result;
}

/* --- from the provider --- */

/* Check that this answer belongs to the request with which this browser went. */
static int check_answer(const struct settings *settings, const struct oidc_answer *answer,
                        const struct memory *memory, struct error **err)
{
    if (!answer->state || strlen(answer->state) != strlen(memory->state) ||
        sodium_memcmp(answer->state, memory->state, strlen(memory->state)) != 0)
        return forgotten(err);
    if (answer->issuer && !str_equal(answer->issuer, settings->oidc_issuer))
        return error_set(err, ERR_INVALID_CREDENTIALS,
                         "The answer came from another identity provider.");
    if (answer->error || !answer->code)
        return error_set(err, ERR_INVALID_CREDENTIALS,
                         "The identity provider did not sign you in: %s.",
                         answer->error ? answer->error : "it gave no reason");
    return 0;
}

static int claims_of(const struct sign_in *by, struct oidc_provider *provider, const char *code,
                     const struct memory *memory, json_t **claims, struct error **err)
{
    autowipe char *token = NULL;
    autofree char *key_id = NULL, *redirect_uri = redirect_uri_of(by->settings);
    const json_t *keys;
    struct oidc_expected expected = {by->settings->oidc_issuer, by->settings->oidc_client_id,
                                     memory->nonce, clock_now_ms()};
    if (oidc_provider_exchange(provider, code, memory->verifier, redirect_uri, &token, err) < 0 ||
        oidc_token_key_id(token, &key_id, err) < 0 ||
        oidc_provider_keys(provider, key_id, &keys, err) < 0)
        return -1;
    return oidc_token_open(token, keys, &expected, claims, err);
}

/* Make a user name: "Alice.Smith@example.com" becomes alice-smith. "": no usable characters. */
static void name_of(const char *claim, char name[SLUG_MAX + 1])
{
    size_t length = 0;
    for (; claim && *claim && *claim != '@' && length < SLUG_MAX; claim++) {
        char c = *claim >= 'A' && *claim <= 'Z' ? (char)(*claim - 'A' + 'a') : *claim;
        bool fits = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (fits || (length && name[length - 1] != '-'))
            name[length++] = fits ? c : '-';
    }
    while (length && name[length - 1] == '-')
        length--;
    name[length] = '\0';
}

static int unknown(struct error **err, const char *name)
{
    return error_set(err, ERR_INVALID_CREDENTIALS,
                     "The identity provider knows you as %s, but no user is linked to that name; "
                     "ask an operator to link you.",
                     *name ? name : "(no name)");
}

/* Make a user, if the settings allow it. A name that exists here is not linked: it may belong to a
 * different person, because others assign the names at the provider. */
static int make_user(const struct sign_in *by, const char *subject, const json_t *claims,
                     char user_id[ID_SIZE], struct error **err)
{
    char name[SLUG_MAX + 1];
    struct user user;
    error_auto taken = NULL;
    name_of(json_string_value(json_object_get(claims, by->settings->oidc_user_claim)), name);
    if (!str_equal(by->settings->oidc_create_users, "on") || !*name)
        return unknown(err, name);
    const struct identity_new new = {by->settings->oidc_issuer, subject, name, by->address};
    if (identity_create_user(by->db, by->ring, &new, &user, &taken) < 0)
        return taken->code == ERR_NAME_TAKEN ? unknown(err, name) : error_move(err, &taken);
    memcpy(user_id, user.id, ID_SIZE);
    log_info("created a user at the first sign-in through the identity provider",
             LOG_STR("user", user.name));
    return 0;
}

static int user_of(const struct sign_in *by, const json_t *claims, char user_id[ID_SIZE],
                   struct error **err)
{
    const char *subject = json_string_value(json_object_get(claims, "sub"));
    error_auto missing = NULL;
    if (!subject || !identity_is_valid(subject))
        return error_set(err, ERR_INVALID_CREDENTIALS,
                         "The identity provider's answer has no user.");
    if (identity_find(by->db, by->settings->oidc_issuer, subject, user_id, &missing) == 0)
        return 0;
    if (missing->code != ERR_NOT_FOUND)
        return error_move(err, &missing);
    return make_user(by, subject, claims, user_id, err);
}

static bool is_in_group(const char *group, const void *context)
{
    const json_t *groups = context;
    for (size_t i = 0; i < json_array_size(groups); i++)
        if (str_equal(json_string_value(json_array_get(groups, i)), group))
            return true;
    return str_equal(json_string_value(groups), group);
}

static int follow_groups(const struct sign_in *by, const struct credential *credential,
                         const json_t *claims, struct error **err)
{
    const struct identity_groups groups = {
        .user = {by->ring, credential->user_id, credential->user_name, by->address},
        .map = by->settings->oidc_groups,
        .is_in = is_in_group,
        .context = json_object_get(claims, by->settings->oidc_group_claim),
    };
    return identity_follow_groups(by->db, &groups, err);
}

static int let_in(const struct sign_in *by, const json_t *claims, struct login *login,
                  char text[SECRET_TEXT_SIZE], struct error **err)
{
    char user_id[ID_SIZE];
    struct credential credential = {0};
    if (user_of(by, claims, user_id, err) < 0 ||
        credential_get_by_id(by->db, user_id, &credential, err) < 0)
        return -1;
    int result = credential.is_disabled
                     ? error_set(err, ERR_INVALID_CREDENTIALS,
                                 "Your user in sandlot is disabled; ask an operator to enable it.")
                     : follow_groups(by, &credential, claims, err);
    if (result == 0)
        result = sign_in_begin(by, &credential, "oidc", login, text, err);
    mem_wipe(&credential, sizeof credential);
    return result;
}

int oidc_finish(const struct sign_in *by, struct oidc_provider *provider,
                const struct oidc_answer *answer, struct login *login, char text[SECRET_TEXT_SIZE],
                char path[OIDC_RETURN_MAX + 1], struct error **err)
{
    struct memory memory = {0};
    struct attempt attempt = {.address = by->address};
    json_auto_t *claims = NULL;
    if (attempt_charge(by->db, &attempt, err) < 0)
        return -1;
    int result = open_memory(by->ring, answer->memory, &memory, err);
    if (result == 0)
        result = check_answer(by->settings, answer, &memory, err);
    if (result == 0)
        result = claims_of(by, provider, answer->code, &memory, &claims, err);
    if (result == 0)
        result = let_in(by, claims, login, text, err);
    if (result == 0) {
        sign_in_refund(by, &attempt);
        snprintf(path, OIDC_RETURN_MAX + 1, "%s", memory.path);
    }
    mem_wipe(&memory, sizeof memory);
    return result;
}
