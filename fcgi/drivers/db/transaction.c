/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <assert.h>
#include <sodium.h>

#include "base/clock.h"
#include "db/connection.h"

#define PAUSE_FIRST_MS 4
#define PAUSE_MOST_MS  250

bool db_in_transaction(const struct db *db)
{
    return db->transaction != DB_OUTSIDE;
}

void db_accompany(struct db *db, const struct db_companion *companion)
{
    db->companion = companion;
    db->companion_is_due = false;
}

bool db_is_accompanied(const struct db *db)
{
    return db->companion != NULL;
}

static int start(struct db *db, struct error **err)
{
    static const char text[] = "START TRANSACTION";
    if (db_connection_ready(db, err) < 0)
        return -1;
    if (db_say(db, text, sizeof text - 1, err) < 0) {
        if (db->mysql)
            return -1;
        /* Lost before anything was done: once more on a new connection. */
        error_clear(err);
        if (db_connection_ready(db, err) < 0 || db_say(db, text, sizeof text - 1, err) < 0)
            return -1;
    }
    db->transaction = DB_INSIDE;
    db->companion_is_due = false;
    db->after_commit = NULL;
    return 0;
}

void db_after_commit(struct db *db, void (*call)(void))
{
    assert(db->transaction != DB_OUTSIDE);
    db->after_commit = call;
}

/* After it the connection, if there still is one, is outside of any transaction. */
static void roll_back(struct db *db)
{
    static const char text[] = "ROLLBACK";
    error_auto ignored = NULL;
    if (db->mysql && db_say(db, text, sizeof text - 1, &ignored) < 0)
        db_connection_drop(db); /* the server rolls back the transaction of a lost client */
    db->transaction = DB_OUTSIDE;
}

static int commit(struct db *db, struct error **err)
{
    static const char text[] = "COMMIT";
    if (db_connection_ready(db, err) < 0) {
        roll_back(db);
        return -1;
    }
    if (db_connection_closed_by_peer(db)) {
        db_connection_drop(db);
        db->transaction = DB_OUTSIDE;
        return error_set(err, ERR_DB_UNAVAILABLE,
                         "the connection to the database was lost before the commit");
    }
    if (db_say(db, text, sizeof text - 1, err) == 0) {
        db->transaction = DB_OUTSIDE;
        return 0;
    }
    bool answered = db->mysql != NULL;
    roll_back(db);
    error_context(err, "commit");
    /* Cut off, or interrupted by a server that closes or has no room: either may have happened. */
    if (!answered || (*err)->code == ERR_DB_UNAVAILABLE || (*err)->code == ERR_DB_FULL)
        error_recode(err, ERR_OUTCOME_UNKNOWN);
    return -1;
}

/* The companion's own writes do not start another one. */
static int commit_accompanied(struct db *db, struct error **err)
{
    const struct db_companion *companion = db->companion_is_due ? db->companion : NULL;
    if (!companion)
        return commit(db, err);
    db->companion = NULL;
    int result = companion->write(db, companion->context, err);
    if (result < 0)
        roll_back(db);
    else
        result = commit(db, err);
    if (result < 0)
        db->companion = companion;
    return result;
}

static int run_once(struct db *db, int (*body)(struct db *db, void *context, struct error **err),
                    void *context, struct error **err)
{
    if (start(db, err) < 0)
        return -1;
    if (body(db, context, err) == 0)
        return commit_accompanied(db, err);
    assert(*err);
    roll_back(db);
    return -1;
}

void db_pause_after(unsigned run)
{
    unsigned most_ms = PAUSE_FIRST_MS << run;
    if (most_ms > PAUSE_MOST_MS)
        most_ms = PAUSE_MOST_MS;
    clock_sleep_ms(most_ms / 2 + randombytes_uniform(most_ms / 2 + 1));
}

int db_transaction(struct db *db, int (*body)(struct db *db, void *context, struct error **err),
                   void *context, struct error **err)
{
    assert(db->transaction == DB_OUTSIDE);
    int64_t started_ms = clock_monotonic_ms();
    for (unsigned run = 1;; run++) {
        if (run_once(db, body, context, err) == 0) {
            lease_transaction_ended(NULL);
            if (db->after_commit)
                db->after_commit();
            return 0;
        }
        /* Lock waits are long: the caller gets one, not eight. */
        bool late = clock_monotonic_ms() - started_ms > (int64_t)db->timeout_s * 1000;
        if ((*err)->code != ERR_DB_DEADLOCK || run == DB_RUNS_MAX || late) {
            lease_transaction_ended(*err);
            return -1;
        }
        error_clear(err);
        db_pause_after(run);
    }
}
