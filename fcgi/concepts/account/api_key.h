/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * API keys: `slk_<12 lookup characters>_<43 secret characters>`. The lookup part (base 32) finds
 * the row; the secret (32 random bytes, base64url) is compared in constant time against a keyed
 * BLAKE2b hash and is shown once, when the key is made. Clients that take keys of the form `e2b_`
 * and hexadecimal digits only are given the same two parts in those: one key, two spellings.
 */
#pragma once

#include "account/account.h"
#include "crypto/keyring.h"

#define API_KEY_TEXT_SIZE (4 + 12 + 1 + 43 + 1)
#define API_KEY_HEX_SIZE  (4 + 2 * (12 + 43) + 1)
#define API_KEY_TEAMS_MAX 256

struct api_key {
    char id[ID_SIZE];
    char user_name[SLUG_MAX + 1];
    char lookup[13];
    char name[65 * 4];
    bool can_write;
    bool all_teams;
    int64_t created_at_ms, expires_at_ms, revoked_at_ms, last_used_at_ms; /* 0: none */
    struct team *teams; /* of a restricted key; owned */
    unsigned team_count;
};
void api_key_deinit(struct api_key *key);
void api_keys_free(struct api_key *keys, unsigned count); /* of api_key_list() */

/* Who makes a request: the user behind a key and the teams that this key reaches. */
struct principal {
    char user_id[ID_SIZE];
    char key_id[ID_SIZE];
    bool can_write;
    bool all_teams;        /* every team of the user, later ones too */
    int64_t expires_at_ms; /* of the key; 0: never */
    char personal_team_id[ID_SIZE];
    struct team *teams; /* owned */
    unsigned team_count;
};
void principal_deinit(struct principal *principal);

/* The principal behind the value of an Authorization header ("Bearer slk_…"; NULL: none sent).
 * Unknown, malformed, expired and revoked keys all answer the same ERR_UNAUTHORIZED. One query;
 * last_used_at is written at most once a minute. */
int principal_authenticate(struct db *db, const struct keyring *ring, const char *authorization,
                           struct principal *principal, struct error **err);

/* The same for a key by itself, in either spelling. */
int principal_authenticate_key(struct db *db, const struct keyring *ring, const char *key,
                               struct principal *principal, struct error **err);

/* The other spelling of a key as api_key_create() gives it: "e2b_…". */
void api_key_to_hex(const char text[API_KEY_TEXT_SIZE], char hex[API_KEY_HEX_SIZE]);

/* The team that a request means that names none: the personal team of the key's user, or else the
 * only one that the key reaches. NULL when there is no such. */
const struct team *principal_default_team(const struct principal *principal);

/* The team of that slug, or the default one for NULL, if this key reaches it. Errors:
 * ERR_TEAM_FORBIDDEN (field "/team" or as given) with the teams that it reaches, also when there is
 * no such team. */
int principal_team(const struct principal *principal, const char *slug, const char *field,
                   const struct team **team, struct error **err);

/* Whether the key reaches the team of that id. */
bool principal_reaches(const struct principal *principal, const char *team_id);

/* Whether the key of that user gives no access that the principal's own key does not give: what a
 * key may see and revoke. */
bool principal_covers(const struct principal *principal, const struct api_key *key);

struct api_key_request {
    const char *user_id;
    const char *name;
    bool can_write;
    const char *const *team_slugs; /* NULL or none: every team of the user */
    unsigned team_count;
    int64_t expires_at_ms; /* 0: never */
};

/* Make a key; text receives the whole key, shown once and then wiped by the caller. Errors, with
 * the field ("/name", "/teams/0", "/expires_at"): ERR_TEAM_FORBIDDEN (a team that the user is no
 * member of), ERR_INVALID_REQUEST. */
int api_key_create(struct db *db, const struct keyring *ring, const struct api_key_request *request,
                   struct api_key *key, char text[API_KEY_TEXT_SIZE], struct error **err);

/* Keys of a user (NULL: of all), newest first, revoked ones too; for api_keys_free(). */
int api_key_list(struct db *db, const char *user_id, struct api_key **keys, unsigned *count,
                 struct error **err);

/* A key of the user, a revoked one too; for api_key_deinit(). Errors: ERR_NOT_FOUND. */
int api_key_get(struct db *db, const char *user_id, const char *id, struct api_key *key,
                struct error **err);

/* Effective for the next request. user_id NULL: any user's. Errors: ERR_NOT_FOUND. */
int api_key_revoke(struct db *db, const char *user_id, const char *id, struct error **err);

extern const struct db_statement_list api_key_statements;
