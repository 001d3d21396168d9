/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * API keys: `slk_<12 lookup characters>_<43 secret characters>`. The lookup part (base 32,
 * after the character of the cell: base/ulid.h) finds the row; the secret (32 random bytes,
 * base64url) is compared in constant time against a keyed BLAKE2b hash and is shown once, when the
 * key is made. Clients that take keys of the form `e2b_` and hexadecimal digits only are given the
 * same two parts in those: one key, two spellings.
 *
 * An SSH key is such a key too, which a public key proves and no secret: its id begins with `ssk_`,
 * it is for the SSH entry point alone, and what signs in with it acts with a token that
 * sandlot-ssh makes, `sls_` and what ssh_token_make() says.
 */
#pragma once

#include "account/account.h"
#include "account/ssh_public_key.h"
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
    bool is_bound; /* it ends with the sign-in that made it */
    int64_t created_at_ms, expires_at_ms, revoked_at_ms, last_used_at_ms; /* 0: none */
    /* The teams that the key names; of a key for every team, those that excluded it. Owned. */
    struct team *teams;
    unsigned team_count;
    char ssh_fingerprint[SSH_FINGERPRINT_SIZE]; /* of an SSH key, "" when it is revoked */
    char *ssh_public_key;                       /* NULL: no SSH key; owned */
};
void api_key_deinit(struct api_key *key);
void api_keys_free(struct api_key *keys, unsigned count); /* of api_key_list() */

/* Who makes a request: the user behind a key, or one who has signed in (login/), and the teams that
 * are reached with it. */
struct principal {
    char user_id[ID_SIZE];
    char key_id[ID_SIZE];    /* "" of one who has signed in */
    char key_lookup[13];     /* of that key */
    char volume_id[ID_SIZE]; /* of a token of a volume, which opens its files alone; else "" */
    char login_id[ID_SIZE];  /* "" of a key */
    char bound_to[ID_SIZE];  /* the sign-in with which the key ends; "": none */
    bool can_write;
    bool all_teams;        /* every team of the user, later ones too */
    int64_t expires_at_ms; /* of the key; 0: never */
    char personal_team_id[ID_SIZE];
    struct team *teams; /* owned */
    unsigned team_count;
    uint64_t revision; /* that vouches for it (access_revision.h); 0: none, it was just read */
};
void principal_deinit(struct principal *principal);

struct principal_cache;

/* The principal behind the value of an Authorization header ("Bearer slk_…"; NULL: none sent).
 * Unknown, malformed, expired and revoked keys all answer the same ERR_UNAUTHORIZED. One query, a
 * small one for a key that the cache (NULL: none) knows; last_used_at is written at most once a
 * minute. */
int principal_authenticate(struct principal_cache *cache, struct db *db, const struct keyring *ring,
                           const char *authorization, struct principal *principal,
                           struct error **err);

/* The same for a key by itself, in either spelling. */
int principal_authenticate_key(struct principal_cache *cache, struct db *db,
                               const struct keyring *ring, const char *key,
                               struct principal *principal, struct error **err);

/* Whether the cache knows the key as a good one; then who it is of, without a look at the database.
 * It holds if principal->revision is still the access revision: nobody is told anything before
 * that is known. */
bool principal_presume(struct principal_cache *cache, const struct keyring *ring,
                       const char *authorization, struct principal *principal);

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

/* The team of that id, or NULL where the key does not reach it. */
const struct team *principal_team_of_id(const struct principal *principal, const char *id);
/* Whether the key reaches the team of that id. */
bool principal_reaches(const struct principal *principal, const char *team_id);

/* What the user may do in the team of that id, which the key reaches. */
enum team_role principal_role(const struct principal *principal, const char *team_id);

/* Whether it may look at the deployment itself: an owner of its own team, which the key reaches. */
bool principal_is_operator(const struct principal *principal);

/* Whether it may change what belongs to the team of that id: the key can write, and the user is
 * more than a viewer. */
bool principal_writes(const struct principal *principal, const char *team_id);

/* Whether the key of that user gives no access that the principal's own key does not give: what a
 * key may see and revoke. */
bool principal_covers(const struct principal *principal, const struct api_key *key);

struct api_key_request {
    const char *user_id;
    const char *name;
    bool can_write;
    const char *const *team_slugs; /* NULL or none: every team of the user */
    unsigned team_count;
    int64_t expires_at_ms;            /* 0: never */
    const char *login_id;             /* a sign-in with which it ends; NULL: none */
    const struct ssh_public_key *ssh; /* NULL: an API key */
};

/* Keys of a user that are not revoked, API keys and SSH keys together. */
#define API_KEYS_MAX 1000
/* Revoked API keys of a user whose rows are kept; the oldest go when a key is made. */
#define API_KEYS_REVOKED_MAX 1000

/* Make a key; text receives the whole key, shown once and then wiped by the caller. Errors, with
 * the field ("/name", "/teams/0", "/expires_at"): ERR_TEAM_FORBIDDEN (a team that the user is no
 * member of), ERR_INVALID_REQUEST (also when the user has API_KEYS_MAX keys). */
int api_key_create(struct db *db, const struct keyring *ring, const struct api_key_request *request,
                   struct api_key *key, char text[API_KEY_TEXT_SIZE], struct error **err);

/* The same with request->ssh, which stays the caller's. Errors: also ERR_NAME_TAKEN
 * ("/public_key"), when it signs somebody in already. */
int ssh_key_create(struct db *db, const struct keyring *ring, const struct api_key_request *request,
                   struct api_key *key, struct error **err);

enum api_key_kind { API_KEYS, SSH_KEYS };

/* Keys of a user (NULL: of all), newest first, revoked ones too; for api_keys_free(). */
int api_key_list(struct db *db, enum api_key_kind kind, const char *user_id, struct api_key **keys,
                 unsigned *count, struct error **err);

/* All of a key that changes while the access revision stands (account/access_revision.h), and that
 * revision. */
int api_key_look_used(struct db *db, const char *id, int64_t *last_used_at_ms, uint64_t *revision,
                      struct error **err);

/* A key of the user, a revoked one too; for api_key_deinit(). Errors: ERR_NOT_FOUND. */
int api_key_get(struct db *db, const char *user_id, const char *id, struct api_key *key,
                struct error **err);

/* Effective for the next request. user_id NULL: any user's. Errors: ERR_NOT_FOUND. */
int api_key_revoke(struct db *db, const char *user_id, const char *id, struct error **err);

/* --- signing in over SSH --- */

#define SSH_TOKEN_SIZE 160

/* Who an SSH key signs in. Revoked, expired and unknown ones are the same ERR_UNAUTHORIZED. */
struct ssh_login {
    char key_id[ID_SIZE];
    char lookup[13];
    char user_id[ID_SIZE];
    char user_name[SLUG_MAX + 1];
};
int ssh_login_find(struct db *db, const char *fingerprint, struct ssh_login *login,
                   struct error **err);

/* What a session of that key acts with towards the API, as a key would be, for ttl_s. It ends with
 * the key. The caller wipes it. */
int ssh_token_make(const struct keyring *ring, const struct ssh_login *login, uint64_t ttl_s,
                   char token[SSH_TOKEN_SIZE], struct error **err);
