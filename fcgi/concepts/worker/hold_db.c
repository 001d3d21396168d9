/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/hold.h"

#include <stdio.h>

#define NAME_SIZE 65
/* The host may finish so long after the end of our patience. */
#define MARGIN_MS 5000

DB_STATEMENT(held_statement) = {"hold.held",
                                "SELECT 1 FROM leases WHERE name = ? AND until_ms > " DB_NOW_MS};
DB_STATEMENT(expire_statement) = {
    "hold.expire", "DELETE FROM leases WHERE name LIKE 'copy/%' AND until_ms <= " DB_NOW_MS};
DB_STATEMENT(take_statement) = {
    "hold.take", "INSERT INTO leases (name, holder, until_ms) VALUES (?, ?, " DB_NOW_MS " + ?)"};
DB_STATEMENT(end_statement) = {"hold.end", "DELETE FROM leases WHERE name = ? AND holder = ?"};

static void format_name(char name[NAME_SIZE], uint32_t host_id, const char *id)
{
    snprintf(name, NAME_SIZE, "copy/%u/%s", host_id, id);
}

int hold_check(struct db *db, uint32_t host_id, const char *id, struct error **err)
{
    char name[NAME_SIZE];
    bool held;
    format_name(name, host_id, id);
    if (db_query_finds(db, &held_statement, DB_ARGS(db_text(name)), &held, err) < 0)
        return -1;
    return held ? error_set(err, ERR_SANDBOX_BUSY,
                            "Its host is stopping or deleting a copy; try again.")
                : 0;
}

int hold_take(struct worker *worker, uint32_t host_id, const char *id, unsigned act_ms,
              struct error **err)
{
    char name[NAME_SIZE];
    format_name(name, host_id, id);
    if (hold_check(worker->db, host_id, id, err) < 0 ||
        db_exec(worker->db, &expire_statement, DB_NO_ARGS, NULL, err) < 0)
        return -1;
    return db_exec(
        worker->db, &take_statement,
        DB_ARGS(db_text(name), db_text(worker->lease_owner), db_i64((int64_t)act_ms + MARGIN_MS)),
        NULL, err);
}

static bool may_be_at_work(const struct error *failure)
{
    return failure &&
           (failure->code == ERR_RUNTIME_UNAVAILABLE || failure->code == ERR_OUTCOME_UNKNOWN ||
            failure->code == ERR_HOST_UNREACHABLE);
}

void hold_end(struct worker *worker, uint32_t host_id, const char *id, const struct error *failure)
{
    char name[NAME_SIZE];
    error_auto ignored = NULL; /* it ends by its time */
    format_name(name, host_id, id);
    if (!may_be_at_work(failure))
        db_exec(worker->db, &end_statement, DB_ARGS(db_text(name), db_text(worker->lease_owner)),
                NULL, &ignored);
}
