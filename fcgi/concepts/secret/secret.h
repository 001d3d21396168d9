/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Secrets of teams: values that sandlot puts into requests of sandboxes to certain hosts
 * (network/egress_rule.h), and that no sandbox and no answer ever contains. They are sealed with
 * the key ring. Each secret has the hosts that it may be sent to.
 *
 * A change of a secret changes the policy of every sandbox whose rules mention it
 * (changed_secret.h), and a dispatcher applies them.
 */
#pragma once

#include <jansson.h>

#include "account/account.h"
#include "crypto/keyring.h"
#include "db/db.h"

#define SECRETS_PER_TEAM    100
#define SECRETS_MADE_MAX    900 /* of a team, for sandboxes; a list has 1000 in all */
#define SECRET_NAME_MAX     63
#define SECRET_VALUE_MAX    4096  /* bytes */
#define SECRET_METADATA_MAX 16384 /* bytes of its JSON */
#define SECRET_HOSTS_MAX    16
#define SECRET_ANY_HOST     "*"
#define SECRET_UNUSED_MS    300000 /* until one for sandboxes that no policy mentions is deleted */

struct secret {
    char id[ID_SIZE];
    char name[SECRET_NAME_MAX + 1];
    char team_slug[SLUG_MAX + 1];
    json_t *hosts;          /* array of names, wildcards and addresses; "*" is any host; owned */
    char hosts_by[ID_SIZE]; /* the user who set them */
    json_t *metadata;       /* texts of E2B's clients, an object; owned */
    uint64_t version;
    int64_t created_at_ms, updated_at_ms, used_at_ms; /* 0: never */
    bool for_sandboxes;                               /* see struct secret_change */
};
void secret_deinit(struct secret *secret);

/* Check members of a schema. The value must be one that a header can have. hosts must be a list of
 * names, wildcards and IPv4 addresses, or the star alone. metadata must fit into its column.
 * Errors: ERR_INVALID_REQUEST at pointer. */
int secret_check_value(const json_t *value, const char *pointer, struct error **err);
int secret_check_hosts(const json_t *hosts, const char *pointer, struct error **err);
int secret_check_metadata(const json_t *metadata, const char *pointer, struct error **err);

/* A new value, other hosts or other metadata; NULL leaves them. */
struct secret_change {
    const char *name;
    const char *value;
    const json_t *hosts; /* checked and canonical */
    const json_t *metadata;
    bool only_new;      /* a secret of this name is an error */
    bool for_sandboxes; /* delete a new one after the last sandbox whose policy mentions it */
};

/* Create a secret of a team or change it. *secret is the result; the caller ends with
 * secret_deinit(). *created: it is new. Errors: ERR_INVALID_REQUEST with the field (a new secret
 * lacks value or hosts, the team has SECRETS_PER_TEAM or, for sandboxes, SECRETS_MADE_MAX, a change
 * without the value adds a host, a value comes without hosts that another user set, metadata for a
 * secret for sandboxes), ERR_NAME_TAKEN. */
int secret_put(struct db *db, const struct keyring *ring, const struct team *team,
               const char *user_id, const struct secret_change *change, struct secret *secret,
               bool *created, struct error **err);
/* Delete it. Requests of rules that mention it are refused from then on. Errors: ERR_NOT_FOUND. */
int secret_delete(struct db *db, const char *team_id, const char *name, struct error **err);

/* Keep a secret for sandboxes while a policy that mentions it is being stored. *found: the team has
 * the secret. */
int secret_renew(struct db *db, const char *team_id, const char *name, bool *found,
                 struct error **err);
/* Delete secrets for sandboxes that no policy and no egress proxy of a team mentions any more. */
int secrets_expire(struct db *db, struct error **err);

/* Read one; the caller ends with secret_deinit(). Errors: ERR_NOT_FOUND. */
int secret_get(struct db *db, const char *team_id, const char *name, struct secret *secret,
               struct error **err);
/* List all of a team by name; the caller frees. */
int secret_list(struct db *db, const char *team_id, struct secret **secrets, unsigned *count,
                struct error **err);
void secrets_free(struct secret *secrets, unsigned count);

/* Check whether a secret may be sent to a host. */
bool secret_goes_to(const struct secret *secret, const char *host);
/* Check the same for all hosts that an entry of a list of hosts means. */
bool secret_covers(const struct secret *secret, const char *entry);

/* Read the value of a secret; the caller wipes and frees *value. Errors: ERR_NOT_FOUND. */
int secret_reveal(struct db *db, const struct keyring *ring, const char *team_id, const char *name,
                  char **value, struct error **err);

/* Inside a transaction: record which secrets the rules of a sandbox mention, the keys of an object,
 * replacing earlier records. */
int secret_follow(struct db *db, const char *team_id, const char *sandbox_id, const json_t *names,
                  bool is_new_sandbox, struct error **err);

/* Delete these records of a sandbox that is deleted. */
int secret_unfollow(struct db *db, const char *sandbox_id, struct error **err);

/* Record when secrets of a team were last sent. uses: an object with the time of each name. An
 * older time changes nothing. */
int secrets_used(struct db *db, const char *team_id, const json_t *uses, struct error **err);
