/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/named_lease.h"

#include "base/str.h"

DB_STATEMENT(get_statement) = {"named_lease.get", "SELECT holder, until_ms - " DB_NOW_MS
                                                  " FROM leases WHERE name = ?"};
DB_STATEMENT(insert_statement) = {
    "named_lease.insert",
    "INSERT INTO leases (name, holder, until_ms) VALUES (?, ?, " DB_NOW_MS " + ?)"};
DB_STATEMENT(take_statement) = {
    "named_lease.take", "UPDATE leases SET holder = ?, until_ms = " DB_NOW_MS
                        " + ? WHERE name = ? AND (holder = ? OR until_ms <= " DB_NOW_MS ")"};
DB_STATEMENT(release_statement) = {"named_lease.release",
                                   "UPDATE leases SET until_ms = 0 WHERE name = ? AND holder = ?"};
DB_STATEMENT(held_statement) = {"named_lease.held",
                                "SELECT 1 FROM leases WHERE name = ? AND until_ms > " DB_NOW_MS};

/* Somebody else may be faster: that is no error. */
static int insert(struct db *db, const char *name, const char *owner, bool *ours,
                  struct error **err)
{
    error_auto failure = NULL;
    *ours = db_exec(db, &insert_statement,
                    DB_ARGS(db_text(name), db_text(owner), db_i64(NAMED_LEASE_MS)), NULL,
                    &failure) == 0;
    return *ours || failure->code == ERR_DB_DUPLICATE ? 0 : error_move(err, &failure);
}

int named_lease_take(struct db *db, const char *name, const char *owner, bool *ours,
                     struct error **err)
{
    db_rows_auto *rows = NULL;
    uint64_t matched;
    if (db_query(db, &get_statement, DB_ARGS(db_text(name)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return insert(db, name, owner, ours, err);
    int64_t left_ms = db_get_i64(rows, 1);
    bool had = left_ms > 0;
    *ours = had && str_equal(db_get_text(rows, 0), owner);
    if (had && (!*ours || left_ms > NAMED_LEASE_MS / 4 * 3))
        return 0;
    if (db_exec(db, &take_statement,
                DB_ARGS(db_text(owner), db_i64(NAMED_LEASE_MS), db_text(name), db_text(owner)),
                &matched, err) < 0)
        return -1;
    *ours = matched == 1;
    return 0;
}

int named_lease_release(struct db *db, const char *name, const char *owner, struct error **err)
{
    return db_exec(db, &release_statement, DB_ARGS(db_text(name), db_text(owner)), NULL, err);
}

int named_lease_is_held(struct db *db, const char *name, bool *held, struct error **err)
{
    return db_query_finds(db, &held_statement, DB_ARGS(db_text(name)), held, err);
}
