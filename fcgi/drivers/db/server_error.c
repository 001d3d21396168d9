/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The meaning of each server error: one table, for MariaDB, MySQL, Galera and Group Replication. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "db/connection.h"

enum meaning {
    REFUSED, /* none of the below: a defect of ours, or of the set-up */
    DUPLICATE,
    /* Rolled back for certain, and worth another run from its beginning: at once, or, since it took
     * its time to be so, by who has some left. */
    CONFLICT,
    WAITED,
    /* This server takes no statement of ours any more, or no writes: another one may. */
    NOT_HERE,
    /* Likewise, but the statement may have happened on another server. */
    LEFT_BEHIND,
    FULL,
    INTERRUPTED, /* at a commit either may have happened */
    /* A text of a request is compared with names or ids, which are ASCII, and the text is not. So
     * no name equals it. Columns that cannot be compared fail earlier, at the prepare. */
    NO_NAME,
};

struct server_error {
    unsigned code;
    enum meaning meaning;
};

static const struct server_error errors[] = {
    {ER_DUP_ENTRY, DUPLICATE},
    {ER_DUP_ENTRY_WITH_KEY_NAME, DUPLICATE},

    {ER_LOCK_DEADLOCK, CONFLICT},         /* 1213; Galera: lost at its certification, too */
    {ER_LOCK_WAIT_TIMEOUT, WAITED},       /* 1205 */
    {DB_ER_CHECKREAD, CONFLICT},          /* 1020 */
    {DB_ER_LOCK_NOWAIT, WAITED},          /* 3572 */
    {DB_ER_STATEMENT_TIMEOUT, WAITED},    /* 1969 */
    {DB_ER_QUERY_TIMEOUT, WAITED},        /* 3024 */
    {DB_ER_COMMIT_ROLLED_BACK, CONFLICT}, /* 3101: lost at the certification of the group */

    {ER_SERVER_SHUTDOWN, NOT_HERE},               /* 1053 */
    {DB_ER_NORMAL_SHUTDOWN, NOT_HERE},            /* 1077 */
    {DB_ER_CONNECTION_KILLED, NOT_HERE},          /* 1927 */
    {DB_ER_CLIENT_INTERACTION_TIMEOUT, NOT_HERE}, /* 4031 */
    {DB_ER_SESSION_KILLED, NOT_HERE},             /* 3169 */
    {DB_ER_OFFLINE_MODE, NOT_HERE},               /* 3032 */
    {DB_ER_OPTION_PREVENTS_STATEMENT, NOT_HERE},  /* 1290: read_only, super_read_only */
    {DB_ER_READ_ONLY_MODE, NOT_HERE},             /* 1836 */
    {DB_ER_READ_ONLY_TRANSACTION, NOT_HERE},      /* 1792: transaction_read_only of the server */
    {ER_UNKNOWN_COM_ERROR, NOT_HERE},      /* 1047; Galera: outside of the primary component */
    {DB_ER_GROUP_TABLE, NOT_HERE},         /* 3098: the group takes writes at several */
    {DB_ER_GROUP_HOOK, LEFT_BEHIND},       /* 3100: it is outside of the group's majority */
    {ER_ERROR_DURING_COMMIT, LEFT_BEHIND}, /* 1180 */
    {DB_ER_GROUP_HOLD_TIMEOUT, NOT_HERE},  /* 3781: a new primary still catches up */
    {DB_ER_GROUP_HOLD_KILLED, NOT_HERE},   /* 3782 */
    {DB_ER_GROUP_HOLD_STATE, NOT_HERE},    /* 3783 */
    {DB_ER_GROUP_STOPPING, NOT_HERE},      /* 3799 */

    {ER_DISK_FULL, FULL},
    {ER_RECORD_FILE_FULL, FULL},
    {ER_ERROR_ON_WRITE, FULL},
    {ER_TEMP_FILE_WRITE_FAILURE, FULL},

    {ER_QUERY_INTERRUPTED, INTERRUPTED}, /* 1317 */

    {ER_CANT_AGGREGATE_2COLLATIONS, NO_NAME}, /* 1267 */
    {ER_CANT_AGGREGATE_3COLLATIONS, NO_NAME}, /* 1270 */
    {ER_CANT_AGGREGATE_NCOLLATIONS, NO_NAME}, /* 1271 */
    {DB_ER_CANNOT_CONVERT_STRING, NO_NAME},   /* 3854 */
};

static enum meaning meaning_of(unsigned code, const char *message)
{
    /* It names the storage engine's error: 149 is its deadlock, which is how a group says that
     * another member was faster. */
    if (code == ER_ERROR_DURING_COMMIT && strstr(message, "error 149"))
        return CONFLICT;
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
        if (errors[i].code == code)
            return errors[i].meaning;
    return REFUSED;
}

/* The name of the key from the server's sentence. The value is left out: it may be anybody's.
 * MariaDB says "… for key 'name'", MySQL "… for key 'table.name'". */
static void key_name(const char *message, char *out, size_t size)
{
    static const char mark[] = "for key '";
    const char *at = NULL;
    for (const char *next = strstr(message, mark); next; next = strstr(next + 1, mark))
        at = next;
    if (!at) {
        snprintf(out, size, "unknown");
        return;
    }
    at += sizeof mark - 1;
    size_t length = strcspn(at, "'");
    const char *dot = memchr(at, '.', length);
    if (dot) {
        length -= (size_t)(dot + 1 - at);
        at = dot + 1;
    }
    snprintf(out, size, "%.*s", (int)length, at);
}

bool db_is_conflict(unsigned code, const char *message)
{
    return meaning_of(code, message) == CONFLICT;
}

bool db_is_uncertain(unsigned code, const char *message)
{
    return db_is_client_error(code) || meaning_of(code, message) == LEFT_BEHIND;
}

int db_server_error(struct db *db, const char *what, unsigned code, const char *message,
                    struct error **err)
{
    char key[128];
    if (db_is_client_error(code)) {
        error_set(err, ERR_DB_UNAVAILABLE, "%s: the connection to the database failed: %s (%u)",
                  what, message, code);
        db_connection_drop(db); /* last, because message may point into it */
        return -1;
    }
    switch (meaning_of(code, message)) {
    case DUPLICATE:
        key_name(message, key, sizeof key);
        return error_set(err, ERR_DB_DUPLICATE, "%s: the key %s already holds this value", what,
                         key);
    case CONFLICT:
    case WAITED:
        if (db->transaction == DB_INSIDE)
            db->transaction = DB_DEADLOCKED;
        return error_set(err, ERR_DB_DEADLOCK, "%s: %s (%u)", what, message, code);
    case NOT_HERE:
    case LEFT_BEHIND:
        error_set(err, ERR_DB_UNAVAILABLE, "%s: the database is closing or read-only: %s (%u)",
                  what, message, code);
        db_connection_drop(db);
        return -1;
    case FULL:
        return error_set(err, ERR_DB_FULL, "%s: the database is full: %s (%u)", what, message,
                         code);
    case INTERRUPTED:
        return error_set(err, ERR_DB_UNAVAILABLE, "%s: %s (%u)", what, message, code);
    case NO_NAME:
        return error_set(err, ERR_NOT_FOUND, "No object has this name.");
    case REFUSED:
        break;
    }
    return error_set(err, ERR_INTERNAL, "%s: the database refused the statement: %s (%u)", what,
                     message, code);
}
