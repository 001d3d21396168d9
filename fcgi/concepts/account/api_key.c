/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/api_key.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "account/principal_cache_row.h"
#include "account/ssh_token.h"
#include "account/volume_token.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#define PREFIX             "slk_"
#define PREFIX_HEX         "e2b_"
#define USED_RESOLUTION_MS 60000
#define TEAMS_NAMED_MAX    10  /* in an error */
#define TEAMS_COMPARED_MAX 256 /* for the nearest slug */

/* --- the text of a key --- */

struct key_text {
    char lookup[API_KEY_LOOKUP_LENGTH + 1];
    char secret[API_KEY_SECRET_LENGTH + 1];
};

static const char *key_of_authorization(const char *value)
{
    if (!value || strncasecmp(value, "Bearer ", 7) != 0)
        return NULL;
    return value + 7 + strspn(value + 7, " ");
}

/* Convert to the usual spelling, which parse_text() then checks. */
static int from_hex(const char *key, char text[API_KEY_TEXT_SIZE])
{
    char *lookup = text + strlen(PREFIX), *secret = lookup + API_KEY_LOOKUP_LENGTH + 1;
    const char *hex = key + strlen(PREFIX_HEX);
    const size_t lookup_hex = 2 * API_KEY_LOOKUP_LENGTH, secret_hex = 2 * API_KEY_SECRET_LENGTH;
    size_t lookup_size, secret_size;
    if (strlen(key) != API_KEY_HEX_SIZE - 1 ||
        sodium_hex2bin((unsigned char *)lookup, API_KEY_LOOKUP_LENGTH, hex, lookup_hex, NULL,
                       &lookup_size, NULL) != 0 ||
        sodium_hex2bin((unsigned char *)secret, API_KEY_SECRET_LENGTH, hex + lookup_hex, secret_hex,
                       NULL, &secret_size, NULL) != 0)
        return -1;
    memcpy(text, PREFIX, strlen(PREFIX));
    secret[-1] = '_';
    text[API_KEY_TEXT_SIZE - 1] = '\0';
    return lookup_size == API_KEY_LOOKUP_LENGTH && secret_size == API_KEY_SECRET_LENGTH ? 0 : -1;
}

void api_key_to_hex(const char text[API_KEY_TEXT_SIZE], char hex[API_KEY_HEX_SIZE])
{
    const char *lookup = text + strlen(PREFIX), *secret = lookup + API_KEY_LOOKUP_LENGTH + 1;
    char *at = hex + strlen(PREFIX_HEX);
    snprintf(hex, API_KEY_HEX_SIZE, "%s", PREFIX_HEX);
    sodium_bin2hex(at, 2 * API_KEY_LOOKUP_LENGTH + 1, (const unsigned char *)lookup,
                   API_KEY_LOOKUP_LENGTH);
    sodium_bin2hex(at + 2 * API_KEY_LOOKUP_LENGTH, 2 * API_KEY_SECRET_LENGTH + 1,
                   (const unsigned char *)secret, API_KEY_SECRET_LENGTH);
}

/* Split "slk_<lookup>_<secret>". Returns -1 for any other form. */
static int parse_text(const char *key, struct key_text *parts)
{
    static const char lookup_alphabet[] = "abcdefghijklmnopqrstuvwxyz0234567"; /* 0: ID_CELL */
    static const char secret_alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    if (!str_starts_with(key, PREFIX) || strlen(key) != API_KEY_TEXT_SIZE - 1)
        return -1;
    const char *lookup = key + strlen(PREFIX);
    const char *secret = lookup + API_KEY_LOOKUP_LENGTH + 1;
    if (strspn(lookup, lookup_alphabet) != API_KEY_LOOKUP_LENGTH || secret[-1] != '_' ||
        strspn(secret, secret_alphabet) != API_KEY_SECRET_LENGTH)
        return -1;
    memcpy(parts->lookup, lookup, API_KEY_LOOKUP_LENGTH);
    parts->lookup[API_KEY_LOOKUP_LENGTH] = '\0';
    memcpy(parts->secret, secret, API_KEY_SECRET_LENGTH + 1);
    return 0;
}

static int parse_key(const char *key, struct key_text *parts)
{
    char text[API_KEY_TEXT_SIZE];
    if (!key || !str_starts_with(key, PREFIX_HEX))
        return key ? parse_text(key, parts) : -1;
    int result = from_hex(key, text) < 0 ? -1 : parse_text(text, parts);
    mem_wipe(text, sizeof text);
    return result;
}

static void new_key_text(struct key_text *parts)
{
    char token[ROUTE_TOKEN_LENGTH + 1];
    unsigned char secret[32];
    snprintf(parts->lookup, sizeof parts->lookup, "%.*s", API_KEY_LOOKUP_LENGTH,
             route_token_new(token));
    parts->lookup[0] = ID_CELL;
    random_fill(secret, sizeof secret);
    base64url_encode(secret, sizeof secret, parts->secret);
    mem_wipe(secret, sizeof secret);
}

static int hash_secret(const struct keyring *ring, uint16_t key_id, const struct key_text *parts,
                       unsigned char hash[MAC_BYTES], struct error **err)
{
    return mac_compute(ring, key_id, KEY_PURPOSE_API_KEY, parts->secret, API_KEY_SECRET_LENGTH,
                       hash, err);
}

/* --- authentication --- */

void principal_deinit(struct principal *principal)
{
    free(principal->teams);
    *principal = (struct principal){0};
}

static int refuse(struct error **err)
{
    error_clear(err);
    return error_set(err, ERR_UNAUTHORIZED,
                     "Send a valid API key: Authorization: Bearer slk_… (this one is missing, "
                     "unknown, expired or revoked).");
}

/* Return whether the secret is that of the credential. The work does not depend on whether the
 * credential exists: an unknown key is hashed under the newest subkey and compared with zeros. */
static bool secret_matches(const struct keyring *ring, const struct key_text *parts,
                           const struct api_key_credential *credential)
{
    error_auto err = NULL;
    unsigned char hash[MAC_BYTES] = {0};
    uint16_t key_id = credential->found ? credential->hash_key_id : keyring_newest(ring);
    bool hashed = hash_secret(ring, key_id, parts, hash, &err) == 0;
    bool equal = mac_equal(hash, credential->hash);
    mem_wipe(hash, sizeof hash);
    if (!hashed)
        log_warning("cannot check an API key; the request is refused",
                    LOG_STR("lookup", parts->lookup), LOG_ERROR(err));
    return hashed && equal && credential->found;
}

/* Record the use of the key. A failure does not refuse the request. */
static void note_use(struct principal_cache *cache, struct db *db, const char *lookup,
                     const char *id, int64_t last_used_at_ms)
{
    error_auto err = NULL;
    int64_t now_ms = clock_now_ms();
    if (last_used_at_ms > now_ms - USED_RESOLUTION_MS)
        return;
    if (api_key_row_used(db, id, now_ms, now_ms - USED_RESOLUTION_MS, &err) < 0)
        log_warning("cannot record the use of an API key; the next use tries again",
                    LOG_STR("key", id), LOG_ERROR(err));
    else
        principal_cache_used(cache, lookup, now_ms);
}

int principal_authenticate(struct principal_cache *cache, struct db *db, const struct keyring *ring,
                           const char *authorization, struct principal *principal,
                           struct error **err)
{
    return principal_authenticate_key(cache, db, ring, key_of_authorization(authorization),
                                      principal, err);
}

/* Read a key, or a signed token that was made with a key. */
static int read_key(const struct keyring *ring, const char *key, struct key_text *parts,
                    char volume_id[ID_SIZE], bool *is_signed)
{
    *is_signed = key && (str_starts_with(key, SSH_TOKEN_PREFIX) ||
                         str_starts_with(key, VOLUME_TOKEN_PREFIX));
    if (!*is_signed)
        return parse_key(key, parts);
    return str_starts_with(key, SSH_TOKEN_PREFIX)
               ? ssh_token_open(ring, key, parts->lookup)
               : volume_token_open(ring, key, parts->lookup, volume_id);
}

static bool has_ended(const struct api_key_credential *credential)
{
    return !credential->found || credential->revoked_at_ms ||
           (credential->expires_at_ms && credential->expires_at_ms <= clock_now_ms());
}

/* Return whether the cache is enough. A key whose use must be recorded needs the database. */
static bool is_good_for_now(const struct keyring *ring, const struct key_text *parts,
                            const struct api_key_credential *credential)
{
    int64_t now_ms = clock_now_ms();
    return secret_matches(ring, parts, credential) && !has_ended(credential) &&
           credential->last_used_at_ms > now_ms - USED_RESOLUTION_MS;
}

bool principal_presume(struct principal_cache *cache, const struct keyring *ring,
                       const char *authorization, struct principal *principal)
{
    struct key_text parts;
    struct api_key_credential credential;
    const char *key = key_of_authorization(authorization);
    *principal = (struct principal){0};
    if (!cache || !key || parse_key(key, &parts) < 0)
        return false;
    bool is_good = principal_cache_look(cache, parts.lookup, &credential, principal) &&
                   is_good_for_now(ring, &parts, &credential);
    if (is_good)
        memcpy(principal->key_lookup, parts.lookup, sizeof principal->key_lookup);
    else
        principal_deinit(principal);
    mem_wipe(&parts, sizeof parts);
    mem_wipe(&credential.hash, sizeof credential.hash);
    return is_good;
}

int principal_read_again(struct principal_cache *cache, struct db *db,
                         const struct principal *principal, struct principal *again,
                         struct error **err)
{
    struct api_key_credential credential;
    *again = (struct principal){0};
    int result = principal_cache_find(cache, db, principal->key_lookup, &credential, again, err);
    if (result == 0 && has_ended(&credential))
        result = refuse(err);
    memcpy(again->key_lookup, principal->key_lookup, sizeof again->key_lookup);
    memcpy(again->volume_id, principal->volume_id, sizeof again->volume_id);
    if (result < 0)
        principal_deinit(again);
    mem_wipe(&credential.hash, sizeof credential.hash);
    return result;
}

int principal_authenticate_key(struct principal_cache *cache, struct db *db,
                               const struct keyring *ring, const char *key,
                               struct principal *principal, struct error **err)
{
    struct key_text parts = {.lookup = ""};
    struct api_key_credential credential;
    char volume_id[ID_SIZE] = "";
    bool is_signed = false;
    *principal = (struct principal){0};
    if (read_key(ring, key, &parts, volume_id, &is_signed) < 0)
        return refuse(err);
    int result = principal_cache_find(cache, db, parts.lookup, &credential, principal, err);
    if (result == 0) {
        bool valid = is_signed || secret_matches(ring, &parts, &credential);
        if (!valid || has_ended(&credential))
            result = refuse(err);
    }
    memcpy(principal->key_lookup, parts.lookup, sizeof principal->key_lookup);
    memcpy(principal->volume_id, volume_id, sizeof volume_id);
    if (result < 0)
        principal_deinit(principal);
    else
        note_use(cache, db, parts.lookup, principal->key_id, credential.last_used_at_ms);
    mem_wipe(&parts, sizeof parts);
    mem_wipe(&credential.hash, sizeof credential.hash);
    return result;
}

/* Name the teams that the key reaches: "a, b and 3 more". */
static char *teams_named(const struct principal *principal)
{
    buffer_auto text = BUFFER_INIT((TEAMS_NAMED_MAX + 1) * (SLUG_MAX + 2));
    unsigned named =
        principal->team_count < TEAMS_NAMED_MAX ? principal->team_count : TEAMS_NAMED_MAX;
    for (unsigned i = 0; i < named; i++)
        buffer_printf(&text, "%s%s", i ? ", " : "", principal->teams[i].slug);
    if (named < principal->team_count)
        buffer_printf(&text, " and %u more", principal->team_count - named);
    return buffer_steal(&text);
}

/* Return the start of a sentence about it. */
static const char *reaches(const struct principal *principal)
{
    return *principal->login_id ? "You reach" : "This API key reaches";
}

/* Refuse a team. The error repeats the slug only if its form is valid: a query holds text of any
 * length. */
static int unknown_team(const struct principal *principal, const char *slug, const char *field,
                        struct error **err)
{
    const char *names[TEAMS_COMPARED_MAX];
    size_t count = 0;
    for (; count < principal->team_count && count < TEAMS_COMPARED_MAX; count++)
        names[count] = principal->teams[count].slug;
    const char *nearest = str_nearest(slug, names, count);
    autofree char *reached = teams_named(principal);
    autofree char *hint = nearest ? xasprintf("; did you mean \"%s\"?", nearest) : xstrdup(".");
    return error_set_field(err, ERR_TEAM_FORBIDDEN, field, "%s no team \"%s\"%s %s: %s.",
                           reaches(principal), slug_is_valid(slug) ? slug : "…", hint,
                           *principal->login_id ? "You reach" : "It reaches", reached);
}

static int no_default_team(const struct principal *principal, const char *field, struct error **err)
{
    autofree char *reached = teams_named(principal);
    return error_set_field(err, ERR_TEAM_FORBIDDEN, field,
                           "%s several teams and no personal one; name one of them: %s.",
                           reaches(principal), reached);
}

const struct team *principal_default_team(const struct principal *principal)
{
    for (unsigned i = 0; i < principal->team_count; i++)
        if (!strcmp(principal->teams[i].id, principal->personal_team_id))
            return &principal->teams[i];
    return principal->team_count == 1 ? &principal->teams[0] : NULL;
}

static const struct team *find_team(const struct principal *principal, const char *slug)
{
    for (unsigned i = 0; i < principal->team_count; i++)
        if (!strcmp(principal->teams[i].slug, slug))
            return &principal->teams[i];
    return NULL;
}

int principal_team(const struct principal *principal, const char *slug, const char *field,
                   const struct team **team, struct error **err)
{
    field = field ? field : "/team";
    *team = slug ? find_team(principal, slug) : principal_default_team(principal);
    if (*team)
        return 0;
    if (!principal->team_count)
        return error_set_field(err, ERR_TEAM_FORBIDDEN, field, "%s no team.", reaches(principal));
    return slug ? unknown_team(principal, slug, field, err)
                : no_default_team(principal, field, err);
}

const struct team *principal_team_of_id(const struct principal *principal, const char *id)
{
    for (unsigned i = 0; i < principal->team_count; i++)
        if (!strcmp(principal->teams[i].id, id))
            return &principal->teams[i];
    return NULL;
}

bool principal_reaches(const struct principal *principal, const char *team_id)
{
    return principal_team_of_id(principal, team_id) != NULL;
}

enum team_role principal_role(const struct principal *principal, const char *team_id)
{
    const struct team *team = principal_team_of_id(principal, team_id);
    return team ? team->role : ROLE_VIEWER;
}

bool principal_is_operator(const struct principal *principal)
{
    return principal_role(principal, TEAM_DEPLOYMENT_ID) == ROLE_OWNER;
}

bool principal_writes(const struct principal *principal, const char *team_id)
{
    return principal->can_write && principal_role(principal, team_id) > ROLE_VIEWER;
}

bool principal_covers(const struct principal *principal, const struct api_key *key)
{
    if (principal->all_teams)
        return true;
    for (unsigned i = 0; i < key->team_count; i++)
        if (!principal_reaches(principal, key->teams[i].id))
            return false;
    return !key->all_teams;
}

/* --- making keys --- */

void api_key_deinit(struct api_key *key)
{
    free(key->teams);
    free(key->ssh_public_key);
    key->teams = NULL;
    key->ssh_public_key = NULL;
    key->team_count = 0;
}

void api_keys_free(struct api_key *keys, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        api_key_deinit(&keys[i]);
    free(keys);
}

static int check_request(const struct api_key_request *request, struct error **err)
{
    if (request->name && !str_is_label(request->name, API_KEY_NAME_MAX))
        return error_set_field(err, ERR_INVALID_REQUEST, "/name",
                               "A key's name is at most %d characters without control characters.",
                               API_KEY_NAME_MAX);
    if (request->team_count > API_KEY_TEAMS_MAX)
        return error_set_field(err, ERR_INVALID_REQUEST, "/teams",
                               "A key can name at most %d teams.", API_KEY_TEAMS_MAX);
    if (request->expires_at_ms && request->expires_at_ms <= clock_now_ms())
        return error_set_field(err, ERR_INVALID_REQUEST, "/expires_at",
                               "The expiry of a key must be in the future.");
    return 0;
}

int api_key_create(struct db *db, const struct keyring *ring, const struct api_key_request *request,
                   struct api_key *key, char text[API_KEY_TEXT_SIZE], struct error **err)
{
    struct key_text parts;
    unsigned char hash[MAC_BYTES];
    uint16_t key_id = keyring_newest(ring);
    if (check_request(request, err) < 0)
        return -1;
    *key = (struct api_key){
        .can_write = request->can_write,
        .all_teams = request->team_count == 0,
        .created_at_ms = clock_now_ms(),
        .is_bound = request->login_id != NULL,
        .expires_at_ms = request->expires_at_ms,
    };
    id_new(request->ssh ? "ssk_" : "key_", key->id);
    snprintf(key->name, sizeof key->name, "%s", request->name ? request->name : "");
    snprintf(key->created_by, ID_SIZE, "%s", request->by_key_id ? request->by_key_id : "");
    new_key_text(&parts);
    memcpy(key->lookup, parts.lookup, sizeof key->lookup);
    int result = hash_secret(ring, key_id, &parts, hash, err);
    if (result == 0)
        result = api_key_row_insert(db, request, key_id, hash, key, err);
    if (result == 0)
        snprintf(text, API_KEY_TEXT_SIZE, PREFIX "%s_%s", parts.lookup, parts.secret);
    else
        api_key_deinit(key);
    mem_wipe(&parts, sizeof parts);
    mem_wipe(hash, sizeof hash);
    return result;
}

int ssh_key_create(struct db *db, const struct keyring *ring, const struct api_key_request *request,
                   struct api_key *key, struct error **err)
{
    char nobodys[API_KEY_TEXT_SIZE];
    int result = api_key_create(db, ring, request, key, nobodys, err);
    mem_wipe(nobodys, sizeof nobodys);
    if (result < 0 && error_clear_if(err, ERR_DB_DUPLICATE))
        return error_set_field(err, ERR_NAME_TAKEN, "/public_key",
                               "This public key belongs to another user already.");
    if (result < 0)
        return -1;
    memcpy(key->ssh_fingerprint, request->ssh->fingerprint, sizeof key->ssh_fingerprint);
    key->ssh_public_key = xstrdup(request->ssh->text);
    return 0;
}
