/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The record of who did what to which resource, when, from where and with what result.
 *
 * An act is opened before it is done and closed after. Its row is written in the first transaction
 * in which the act changes anything (db_companion), so that neither is there without the other:
 * `done` for an act that is this one transaction, `begun` for one that goes on after it and whose
 * end is a second row with the id of the first. What is refused for want of rights has a row
 * `refused`; what fails without having changed anything has none.
 *
 * Rows are never changed. Each has a MAC, and a dispatcher binds them into a chain (chain.h).
 */
#pragma once

#include "audit/action.h"
#include "base/ulid.h"
#include "crypto/keyring.h"
#include "db/db.h"

#define AUDIT_RESOURCE_SIZE 256
#define AUDIT_ACTOR_SIZE    65

enum audit_actor { AUDIT_KEY, AUDIT_SSH_KEY, AUDIT_SESSION, AUDIT_OPERATOR, AUDIT_SERVICE };
const char *audit_actor_name(enum audit_actor kind); /* "key", "ssh_key", "session", … */

enum audit_result { AUDIT_DONE, AUDIT_BEGUN, AUDIT_FAILED, AUDIT_REFUSED };
const char *audit_result_name(enum audit_result result);

struct audit_entry {
    char id[ID_SIZE];
    int64_t at_ms;
    char team_id[ID_SIZE]; /* "": of no one team */
    char action[41];
    char resource[AUDIT_RESOURCE_SIZE]; /* an id, a slug or a name; "" when there is none */
    enum audit_actor actor;
    /* The id of the key or the session, the operator's login, or what of the service did it
     * ("deadline"). */
    char actor_id[AUDIT_ACTOR_SIZE];
    char user_id[ID_SIZE];    /* "": no user */
    char user_name[64];       /* as it is now; only read, and "" of a user who is gone */
    char address[46];         /* of the client; "": none */
    char request_id[65];      /* "": none */
    enum audit_result result; /* with the error's code when it failed or was refused */
    char error[41];
    char begun_id[ID_SIZE]; /* of the row that this one ends; "" */
};

/* An act in hand. */
struct audit {
    struct db *db;
    const struct keyring *ring;
    const struct audit_action *action; /* NULL: nothing is recorded */
    struct audit_entry entry;          /* filled in by whoever opens it, as far as it knows */
    /* What is known in the transaction only, instead of the entry's own; borrowed until
     * audit_end(), NULL: not. */
    const char *resource, *team_id, *actor_id, *user_id;
    bool only_changes; /* one that succeeds without a change has no row */
    bool is_written;   /* its first row has been written */
    bool is_told;      /* and the row of its success */
    struct db_companion companion;
};

/* An act of the service itself; what: "deadline". One without a change has no row. */
void audit_by_service(struct audit *audit, const struct audit_action *action, const char *what);

/* Open it. action, entry and the pointers are set. Errors: those of the database, of an act that is
 * outside of it; then it must not be done. */
int audit_begin(struct audit *audit, struct db *db, const struct keyring *ring, struct error **err);

/* In the transaction that ends an act which goes on after its first row: the row of its success,
 * which audit_end() then does not write. */
int audit_tell_done(struct audit *audit, struct error **err);

/* Close it; failure NULL: it succeeded. Errors: those of the database; whoever asked is then not
 * told of success. */
int audit_end(struct audit *audit, const struct error *failure, struct error **err);

/* The same for one whose end somebody else will see: its first row stays alone. */
void audit_leave(struct audit *audit);

/* What it is about, cut at the column's size. */
void audit_about(struct audit *audit, const char *resource);

/* A row by itself, for what has no act around it: id and at_ms are set here. */
int audit_write(struct db *db, const struct keyring *ring, struct audit_entry *entry,
                struct error **err);

/* Count a refused act of an actor (the id of a key or a session). *is_written: it is the first for
 * a minute, and the caller writes a row; *unwritten: refused acts since the actor's last row that
 * have none. */
int audit_refusal_count(struct db *db, const char *actor_id, bool *is_written, uint64_t *unwritten,
                        struct error **err);
/* Forget actors that were not refused for a day. */
int audit_refusal_purge(struct db *db, struct error **err);

/* What a list shows, newest first. NULL, "" and 0: whatever. */
struct audit_filter {
    const char *team_id, *action, *resource;
    const char *actor; /* an id of a key or a session, or a user's id or name */
    int64_t since_ms, until_ms;
};

/* Rows before the id (NULL: from the newest); the caller frees the array. */
int audit_list(struct db *db, const struct audit_filter *filter, const char *before, unsigned limit,
               struct audit_entry **entries, unsigned *count, struct error **err);
