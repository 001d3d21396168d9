/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * API keys: `slk_<12 lookup characters>_<43 secret characters>`. The lookup part (base 32, after
 * the character of the cell: base/ulid.h) finds the row. The secret (32 random bytes, base64url) is
 * compared in constant time with a keyed BLAKE2b hash. The API shows it once, when the key is made.
 *
 * Some clients accept only keys of the form `e2b_` and hexadecimal digits. Their spelling has the
 * same two parts in hexadecimal: one key, two spellings.
 *
 * An SSH key has a row in the same table. A public key proves it, not a secret; its id begins with
 * `ssk_`. It works at the SSH entry point only. Its sessions call the API with a token that
 * sandlot-ssh makes, `sls_` and the text of ssh_token_make().
 */
#pragma once

#include "account/account.h"
#include "account/ssh_public_key.h"
#include "crypto/keyring.h"

#define API_KEY_TEXT_SIZE (4 + 12 + 1 + 43 + 1)
#define API_KEY_HEX_SIZE  (4 + 2 * (12 + 43) + 1)
#define API_KEY_TEAMS_MAX 256
#define API_KEY_NAME_MAX  64 /* characters */

struct api_key {
    char id[ID_SIZE];
    char user_name[SLUG_MAX + 1];
    char created_by[ID_SIZE]; /* the key that asked for it; "": a sign-in or an operator */
    char lookup[13];
    char name[65 * 4];
    bool can_write;
    bool all_teams;
    bool is_bound; /* it ends with the sign-in that made it */
    int64_t created_at_ms, expires_at_ms, revoked_at_ms, last_used_at_ms; /* 0: not set */
    /* The teams that the key names; of a key for every team, the teams that excluded it. Owned. */
    struct team *teams;
    unsigned team_count;
    char ssh_fingerprint[SSH_FINGERPRINT_SIZE]; /* of an SSH key; "": not an SSH key, or revoked */
    char *ssh_public_key;                       /* NULL: not an SSH key; owned */
};
void api_key_deinit(struct api_key *key);
void api_keys_free(struct api_key *keys, unsigned count); /* of api_key_list() */

/* The sender of a request: the user of a key or of a sign-in (login/), and the teams that it
 * reaches. */
struct principal {
    char user_id[ID_SIZE];
    char key_id[ID_SIZE];    /* "" for a sign-in */
    char key_lookup[13];     /* of that key */
    char volume_id[ID_SIZE]; /* of a volume token, which opens the files of this volume only; else
                              * "" */
    char login_id[ID_SIZE];  /* "" for a key */
    char bound_to[ID_SIZE];  /* the sign-in with which the key ends; "": none */
    bool can_write;
    bool all_teams;        /* every team of the user, later ones too */
    int64_t expires_at_ms; /* of the key; 0: never */
    char personal_team_id[ID_SIZE];
    struct team *teams; /* owned */
    unsigned team_count;
    uint64_t revision; /* the access revision for which it is valid (access_revision.h); 0: not
                        * known */
};
void principal_deinit(struct principal *principal);

struct principal_cache;

/* Find the principal of an Authorization header ("Bearer slk_…"; NULL: the request has none). Also
 * accepts the tokens of ssh_token_make() and of a volume (account/volume_token.h). Unknown,
 * malformed, expired and revoked keys all get the same ERR_UNAUTHORIZED.
 *
 * Sends one query without a cache (NULL). With a cache it sends a small query for the access
 * revision. A changed revision, and a key that the cache lacks, need another query each. Writes
 * last_used_at at most once a minute. */
int principal_authenticate(struct principal_cache *cache, struct db *db, const struct keyring *ring,
                           const char *authorization, struct principal *principal,
                           struct error **err);

/* Find the principal of a key without "Bearer", in either spelling. */
int principal_authenticate_key(struct principal_cache *cache, struct db *db,
                               const struct keyring *ring, const char *key,
                               struct principal *principal, struct error **err);

/* Find the principal of a key in the cache, without a query. Returns false for a key that the cache
 * does not have, that is wrong or has ended there, or whose use must be recorded. The result is
 * valid only if principal->revision is still the access revision: check this before the answer
 * shows anything. */
bool principal_presume(struct principal_cache *cache, const struct keyring *ring,
                       const char *authorization, struct principal *principal);

/* Read the principal of a key once more, some time after its authentication. Errors:
 * ERR_UNAUTHORIZED: the key has ended; *again is then empty. */
int principal_read_again(struct principal_cache *cache, struct db *db,
                         const struct principal *principal, struct principal *again,
                         struct error **err);

/* Convert a key of api_key_create() to its other spelling, "e2b_…". */
void api_key_to_hex(const char text[API_KEY_TEXT_SIZE], char hex[API_KEY_HEX_SIZE]);

/* Return the team of a request that names none: the personal team of the key's user, or else the
 * only team that the key reaches. NULL: there is no such team. */
const struct team *principal_default_team(const struct principal *principal);

/* Find the team with this slug, or the default one for NULL, if the key reaches it. Errors:
 * ERR_TEAM_FORBIDDEN (field "/team" or as given), which lists the teams in reach, also for a team
 * that does not exist. */
int principal_team(const struct principal *principal, const char *slug, const char *field,
                   const struct team **team, struct error **err);

/* Return the team with this id, or NULL if the key does not reach it. */
const struct team *principal_team_of_id(const struct principal *principal, const char *id);
/* Return whether the key reaches the team with this id. */
bool principal_reaches(const struct principal *principal, const char *team_id);

/* Return the user's role in the team with this id; ROLE_VIEWER if the key does not reach it. */
enum team_role principal_role(const struct principal *principal, const char *team_id);

/* Return whether it may see the deployment itself: its user owns the deployment's team, and the key
 * reaches that team. */
bool principal_is_operator(const struct principal *principal);

/* Return whether it may change things of the team with this id. It may if the key can write and the
 * user is more than a viewer. */
bool principal_writes(const struct principal *principal, const char *team_id);

/* Return whether the user's key gives no access beyond the principal's own key. A key may see and
 * revoke only such keys. */
bool principal_covers(const struct principal *principal, const struct api_key *key);

struct api_key_request {
    const char *user_id;
    const char *name;
    bool can_write;
    const char *const *team_slugs; /* NULL or empty: every team of the user */
    unsigned team_count;
    int64_t expires_at_ms; /* 0: never */
    const char *login_id;  /* the sign-in with which the key ends; NULL: none */
    const char *by_key_id; /* the key that asks, which the new key names. A key for every team takes
                            * over its excluded teams. NULL: none */
    const struct ssh_public_key *ssh; /* NULL: an API key */
};

/* Limit of a user's valid keys, API keys and SSH keys together. Before a new key is refused, up to
 * 100 expired keys are revoked. */
#define API_KEYS_MAX 1000
/* Limit of a user's revoked keys whose rows are kept, for API keys and SSH keys each. A new key
 * deletes the oldest ones of its kind. */
#define API_KEYS_REVOKED_MAX 1000

/* Make a key. text receives the whole key; the caller shows it once and wipes it. Errors, with the
 * field ("/name", "/teams/0", "/expires_at"): ERR_TEAM_FORBIDDEN (the user is not a member of the
 * team), ERR_INVALID_REQUEST (also when the user has API_KEYS_MAX keys), ERR_UNAUTHORIZED (the key
 * that asks was revoked meanwhile). */
int api_key_create(struct db *db, const struct keyring *ring, const struct api_key_request *request,
                   struct api_key *key, char text[API_KEY_TEXT_SIZE], struct error **err);

/* Make an SSH key of request->ssh, which stays the caller's. Errors: as api_key_create(), and
 * ERR_NAME_TAKEN ("/public_key") when the public key signs in a user already. */
int ssh_key_create(struct db *db, const struct keyring *ring, const struct api_key_request *request,
                   struct api_key *key, struct error **err);

enum api_key_kind { API_KEYS, SSH_KEYS };

/* List the keys of a user (NULL: of all users), newest first, with revoked ones; for
 * api_keys_free(). */
int api_key_list(struct db *db, enum api_key_kind kind, const char *user_id, struct api_key **keys,
                 unsigned *count, struct error **err);

/* Read the access revision, and the last_used_at_ms of a key. All other values of a key stay the
 * same while the revision does (account/access_revision.h). */
int api_key_look_used(struct db *db, const char *id, int64_t *last_used_at_ms, uint64_t *revision,
                      struct error **err);

/* Read a key of the user, also a revoked one; for api_key_deinit(). Errors: ERR_NOT_FOUND. */
int api_key_get(struct db *db, const char *user_id, const char *id, struct api_key *key,
                struct error **err);

/* List the valid keys of the user that this key created, those that these created, and so on, also
 * through a revoked key; for api_keys_free(). with_created of api_key_revoke() revokes them. */
int api_key_list_created(struct db *db, const char *user_id, const char *id, struct api_key **keys,
                         unsigned *count, struct error **err);

/* Revoke a key; the next request with it fails. user_id NULL: a key of any user. with_created: also
 * revoke all keys that it created, the keys that those created, and so on, also if the key itself
 * is revoked already. Errors: ERR_NOT_FOUND, also when there is nothing left to revoke. */
int api_key_revoke(struct db *db, const char *user_id, const char *id, bool with_created,
                   struct error **err);

/* --- signing in over SSH --- */

#define SSH_TOKEN_SIZE 160

/* The user of an SSH key. Revoked, expired and unknown keys get the same ERR_UNAUTHORIZED. */
struct ssh_login {
    char key_id[ID_SIZE];
    char lookup[13];
    char user_id[ID_SIZE];
    char user_name[SLUG_MAX + 1];
    int64_t expires_at_ms; /* of the key; 0: never */
};
int ssh_login_find(struct db *db, const char *fingerprint, struct ssh_login *login,
                   struct error **err);

/* Make the token with which a session of the key calls the API, as if it were a key. It is valid
 * for ttl_s, and ends with the key. The caller wipes it. */
int ssh_token_make(const struct keyring *ring, const struct ssh_login *login, uint64_t ttl_s,
                   char token[SSH_TOKEN_SIZE], struct error **err);
