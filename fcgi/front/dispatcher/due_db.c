/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/mem.h"
#include "dispatcher/due.h"

#define TIMES_MAX (2 * DUE_COUNT)

DB_STATEMENT(look_statement) = {
    "due.look", "SELECT "
#define DUE(name, condition) condition ", "
#include "dispatcher/due.def"
#undef DUE
                "(SELECT MIN(deadline_at_ms) FROM sandboxes WHERE state = 'ready')"};

int due_look(struct db *db, struct due *due, struct error **err)
{
    db_rows_auto *rows = NULL;
    struct db_value times[TIMES_MAX], now = db_i64(clock_now_ms());
    size_t count = 0;
    unsigned column = 0;
    for (const char *c = look_statement.sql; *c; c++)
        if (*c == '?' && count < ARRAY_SIZE(times))
            times[count++] = now;
    if (db_query(db, &look_statement, times, count, &rows, err) < 0)
        return -1;
    db_rows_next(rows);
    *due = (struct due){.deadline_at_ms = 0};
    for (size_t kind = DUE_DEADLINES + 1; kind < DUE_COUNT; kind++)
        due->work[kind] = db_get_bool(rows, column++);
    due->deadline_at_ms = db_get_i64(rows, column);
    return 0;
}

bool due_has(const struct due *due, enum due_kind kind)
{
    if (kind == DUE_DEADLINES)
        return due->deadline_at_ms && due->deadline_at_ms <= clock_now_ms();
    return kind == DUE_UNKNOWN || due->work[kind];
}
