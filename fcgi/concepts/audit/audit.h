/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The record of each act: the user or program, the resource, the time, the client's address and the
 * result.
 *
 * Open an act before it is done, and close it afterwards. The first transaction in which the act
 * changes anything also writes its row (db_companion), so change and row exist together or not at
 * all.
 *
 * An act of one transaction has a row `done`. An act that continues after its first transaction has
 * a row `begun`, and at its end a second row with the id of the first. An act that was refused for
 * missing rights has a row `refused`. An act that fails without a change has no row.
 *
 * Rows never change. Each has a MAC, and a dispatcher binds the rows into a chain (chain.h).
 */
#pragma once

#include "audit/action.h"
#include "base/ulid.h"
#include "crypto/keyring.h"
#include "db/db.h"
#include "naming/naming.h"

#define AUDIT_RESOURCE_SIZE 256
#define AUDIT_ACTOR_SIZE    65

enum audit_actor { AUDIT_KEY, AUDIT_SSH_KEY, AUDIT_SESSION, AUDIT_OPERATOR, AUDIT_SERVICE };
const char *audit_actor_name(enum audit_actor kind); /* "key", "ssh_key", "session", … */

enum audit_result { AUDIT_DONE, AUDIT_BEGUN, AUDIT_FAILED, AUDIT_REFUSED };
const char *audit_result_name(enum audit_result result);

struct audit_entry {
    char id[ID_SIZE];
    int64_t at_ms;
    char team_id[ID_SIZE]; /* "": no single team */
    char action[41];
    char resource[AUDIT_RESOURCE_SIZE]; /* an id, a slug or a name; "": no resource */
    enum audit_actor actor;
    /* The id of the key or the session, the operator's login, or the part of the service
     * ("deadline"). */
    char actor_id[AUDIT_ACTOR_SIZE];
    char user_id[ID_SIZE]; /* "": no user */
    char user_name[64];    /* the present name, set by reads only; "": the user was removed */
    char resource_name[THING_NAME_SIZE]; /* likewise; "": without a name, or removed */
    char address[46];                    /* of the client; "": none */
    char request_id[65];                 /* "": none */
    enum audit_result result;            /* error: the code of a failure or refusal; else "" */
    char error[41];
    char begun_id[ID_SIZE]; /* the id of the row `begun` that this row ends; "" */
};

/* An act from audit_begin() to audit_end(). */
struct audit {
    struct db *db;
    const struct keyring *ring;
    const struct audit_action *action; /* NULL: nothing is recorded */
    struct audit_entry entry;          /* filled in by the opener, as far as the facts are known */
    /* Values that only the transaction knows; they replace those of the entry. Borrowed until
     * audit_end(); NULL: keep the entry's value. */
    const char *resource, *team_id, *actor_id, *user_id;
    bool only_changes; /* do not record a success without a change */
    bool is_written;   /* its first row has been written */
    bool is_told;      /* the row of its success has been written too */
    struct db_companion companion;
};

/* Prepare an act of the service itself. `what`: the part of the service, such as "deadline". A
 * success without a change is not recorded. */
void audit_by_service(struct audit *audit, const struct audit_action *action, const char *what);

/* Open an act whose action, entry and pointers are set. Errors: for AUDIT_OUTSIDE, those of the
 * database; the caller must then not do the act. */
int audit_begin(struct audit *audit, struct db *db, const struct keyring *ring, struct error **err);

/* Write the row of success in the transaction that ends a long act whose row `begun` exists;
 * audit_end() then writes no second one. Does nothing for other acts. */
int audit_tell_done(struct audit *audit, struct error **err);

/* Close an act. failure NULL: it succeeded. Errors: those of the database; the caller must then not
 * answer with success. */
int audit_end(struct audit *audit, const struct error *failure, struct error **err);

/* Close an act whose end another process will record. Its row `begun` stays alone. */
void audit_leave(struct audit *audit);

/* Set the resource of the act, cut to the size of the column. */
void audit_about(struct audit *audit, const char *resource);

/* Write a single row without an act around it; sets id and at_ms. */
int audit_write(struct db *db, const struct keyring *ring, struct audit_entry *entry,
                struct error **err);

/* Count a refused act of an actor (the id of a key or a session). Set *is_written if it is the
 * actor's first refusal for a minute; then the caller writes a row.
 *
 * *unwritten: the number of refusals since the actor's last row, which have no rows of their
 * own. */
int audit_refusal_count(struct db *db, const char *actor_id, bool *is_written, uint64_t *unwritten,
                        struct error **err);
/* Delete the counters of actors without a refusal for a day. */
int audit_refusal_purge(struct db *db, struct error **err);

/* The rows that a list shows, newest first. NULL, "" and 0: any value. */
struct audit_filter {
    const char *team_id, *action, *resource;
    const char *actor; /* an id of a key or a session, or a user's id or name */
    int64_t since_ms, until_ms;
};

#define AUDIT_SCAN_MAX 10000

/* List rows before the id (NULL: from the newest); the caller frees the array.
 *
 * end: ID_SIZE bytes; then the list ends after AUDIT_SCAN_MAX rows that an index cannot choose, and
 * *end is the id of the last one, or "" when no rows are left. NULL: without such an end. */
int audit_list(struct db *db, const struct audit_filter *filter, const char *before, unsigned limit,
               struct audit_entry **entries, unsigned *count, char *end, struct error **err);
