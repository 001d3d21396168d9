/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/lease.h"

#include <stdio.h>

#include "base/clock.h"

int lease_take(struct db *db, const struct lease_table *table, const char *owner, uint64_t lease_ms,
               char key[LEASE_KEY_SIZE], unsigned *attempts, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &table->due, DB_ARGS(db_i64(clock_now_ms())), &rows, err) < 0)
        return -1;
    snprintf(key, LEASE_KEY_SIZE, "%s", db_rows_next(rows) ? db_get_text(rows, 0) : "");
    if (!*key)
        return 0;
    struct db_value until = db_i64(clock_in_ms(lease_ms));
    if (!table->has_owner)
        return db_exec(db, &table->take, DB_ARGS(until, db_text(key)), NULL, err);
    if (attempts)
        *attempts = (unsigned)db_get_u64(rows, 1) + 1;
    return db_exec(db, &table->take, DB_ARGS(until, db_text(owner), db_text(key)), NULL, err);
}

static int set_time(struct db *db, const struct lease_table *table, const char *key,
                    const char *owner, uint64_t ms, uint64_t *matched, struct error **err)
{
    struct db_value until = db_i64(clock_in_ms(ms));
    if (!table->has_owner)
        return db_exec(db, &table->renew, DB_ARGS(until, db_text(key)), matched, err);
    return db_exec(db, &table->renew, DB_ARGS(until, db_text(key), db_text(owner)), matched, err);
}

int lease_renew(struct db *db, const struct lease_table *table, const char *key, const char *owner,
                uint64_t lease_ms, struct error **err)
{
    uint64_t matched;
    if (set_time(db, table, key, owner, lease_ms, &matched, err) < 0)
        return -1;
    return matched ? 0 : error_set(err, ERR_LEASE_LOST, "%s was taken over", key);
}

int lease_defer(struct db *db, const struct lease_table *table, const char *key, const char *owner,
                uint64_t delay_ms, struct error **err)
{
    return set_time(db, table, key, owner, delay_ms, NULL, err);
}

void lease_keep(struct lease *lease, struct db *db, const struct lease_table *table,
                const char *key, const char *owner, uint64_t lease_ms)
{
    int64_t now_ms = clock_monotonic_ms();
    *lease = (struct lease){.db = db, .table = table, .lease_ms = lease_ms};
    snprintf(lease->key, sizeof lease->key, "%s", key);
    snprintf(lease->owner, sizeof lease->owner, "%s", owner);
    lease->renew_at_ms = now_ms + (int64_t)lease_ms / 4;
    lease->lost_at_ms = now_ms + (int64_t)lease_ms;
}

int lease_tick(struct lease *lease, struct error **err)
{
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms < lease->renew_at_ms)
        return 0;
    error_auto failure = NULL;
    if (lease_renew(lease->db, lease->table, lease->key, lease->owner, lease->lease_ms, &failure) ==
        0) {
        lease->renew_at_ms = now_ms + (int64_t)lease->lease_ms / 4;
        lease->lost_at_ms = now_ms + (int64_t)lease->lease_ms;
        return 0;
    }
    if (failure->code != ERR_LEASE_LOST && now_ms < lease->lost_at_ms)
        return 0;
    error_recode(&failure, ERR_LEASE_LOST);
    return error_move(err, &failure);
}

int lease_check(struct lease *lease, struct error **err)
{
    lease->renew_at_ms = 0;
    return lease_tick(lease, err);
}
