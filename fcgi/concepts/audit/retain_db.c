/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Retention. The database login of the programs may not delete rows. Stored procedures with the
 * rights of the migrating login delete them, and spare rows of the last 30 days. */
#include <inttypes.h>
#include <stdio.h>

#include "audit/chain.h"
#include "base/clock.h"

#define DAY_MS INT64_C(86400000)
#define BATCH  5000
/* Links that one statement removes. */
#define TRIM_BATCH 20000

/* The procedure deletes no younger rows. A minute for clocks that differ. */
#define SPARED_MS (30 * DAY_MS + 60000)

/* Include removed teams, and rows without a team. The inner query jumps in the index from team to
 * team: a team's rows can be more than the server reads within its time for a statement. */
DB_STATEMENT(teams_statement) = {
    "audit.retain_teams", "SELECT t.id, p.audit_days FROM teams t JOIN plans p ON p.name = t.plan"
                          " UNION ALL SELECT a.team_id, (SELECT MAX(audit_days) FROM plans)"
                          " FROM (SELECT DISTINCT team_id FROM audit_log) a"
                          " LEFT JOIN teams t ON t.id = a.team_id WHERE t.id IS NULL"};
/* A row audit.prune of an earlier turn alone does not start another turn. */
DB_STATEMENT(old_statement) = {"audit.retain_old",
                               "SELECT id FROM audit_log FORCE INDEX (audit_log_team)"
                               " WHERE team_id = ? AND id < ? AND action <> 'audit.prune' LIMIT 1"};
/* The procedure stops at the number that it gets. Without it, the last part of a team's old rows
 * would be searched for in all its younger rows. */
DB_STATEMENT(count_statement) = {
    "audit.retain_count",
    "SELECT COUNT(*) FROM (SELECT 1 FROM audit_log FORCE INDEX (audit_log_team)"
    " WHERE team_id = ? AND id < ? AND at_ms < ? LIMIT ?) counted"};
DB_STATEMENT(prune_statement) = {"audit.prune", "CALL audit_prune(?, ?, ?)"};
DB_STATEMENT(first_statement) = {
    "audit.retain_first",
    "SELECT c.seq FROM audit_chain c JOIN audit_log a ON a.id = c.audit_id ORDER BY c.seq LIMIT 1"};
DB_STATEMENT(oldest_statement) = {"audit.retain_oldest",
                                  "SELECT seq, at_ms FROM audit_chain ORDER BY seq LIMIT 1"};
DB_STATEMENT(trim_statement) = {"audit.trim", "CALL audit_trim(?)"};

struct retain {
    const struct keyring *ring;
    const char *team_id;
    int64_t before_ms;
    bool is_said;     /* the row audit.prune was written in this turn */
    int64_t until_ms; /* monotonic */
    uint64_t count;   /* rows to remove */
    uint64_t removed;
    uint64_t first_seq;
};

static int say(struct db *db, const struct retain *retain, const struct audit_action *action,
               const char *resource, struct error **err)
{
    struct audit audit;
    audit_by_service(&audit, action, "retention");
    audit_about(&audit, resource);
    snprintf(audit.entry.action, sizeof audit.entry.action, "%s", action->name);
    snprintf(audit.entry.team_id, ID_SIZE, "%s", retain->team_id);
    return audit_write(db, retain->ring, &audit.entry, err);
}

static int prune_body(struct db *db, void *context, struct error **err)
{
    struct retain *retain = context;
    char before[32];
    snprintf(before, sizeof before, "%" PRId64, retain->before_ms);
    if (!retain->is_said && say(db, retain, &audit_AUDIT_PRUNE, before, err) < 0)
        return -1;
    return db_exec(
        db, &prune_statement,
        DB_ARGS(db_text(retain->team_id), db_i64(retain->before_ms), db_u64(retain->count)),
        &retain->removed, err);
}

/* Count the next rows to remove, BATCH at most; 0: none is old enough. */
static int count(struct db *db, struct retain *retain, const char *floor, struct error **err)
{
    bool any;
    retain->count = 0;
    if (db_query_finds(db, &old_statement, DB_ARGS(db_text(retain->team_id), db_text(floor)), &any,
                       err) < 0)
        return -1;
    return any ? DB_NUMBER(db, &count_statement,
                           DB_ARGS(db_text(retain->team_id), db_text(floor),
                                   db_i64(retain->before_ms), db_u64(BATCH)),
                           &retain->count, err)
               : 0;
}

static int prune(struct db *db, struct retain *retain, uint64_t *removed, struct error **err)
{
    char floor[ID_SIZE];
    id_floor("aud_", retain->before_ms, floor);
    for (;;) {
        if (count(db, retain, floor, err) < 0)
            return -1;
        if (!retain->count)
            return 0;
        if (db_transaction(db, prune_body, retain, err) < 0)
            return -1;
        if (!retain->removed) /* the procedure spares the rows, which are too young */
            return 0;
        *removed += retain->removed;
        retain->is_said = true;
        if (clock_monotonic_ms() >= retain->until_ms)
            return 0;
    }
}

static int trim_body(struct db *db, void *context, struct error **err)
{
    const struct retain *retain = context;
    char resource[64];
    snprintf(resource, sizeof resource, "link %" PRIu64, retain->first_seq);
    return say(db, retain, &audit_AUDIT_TRIM, resource, err) < 0
               ? -1
               : db_exec(db, &trim_statement, DB_ARGS(db_u64(retain->first_seq)), NULL, err);
}

/* Remove the links before the first one whose row still exists, a batch in each transaction. The
 * procedure spares links of the last 30 days. */
static int trim(struct db *db, struct retain *retain, struct error **err)
{
    db_rows_auto *first = NULL;
    db_rows_auto *oldest = NULL;
    if (db_query(db, &first_statement, DB_NO_ARGS, &first, err) < 0 ||
        db_query(db, &oldest_statement, DB_NO_ARGS, &oldest, err) < 0)
        return -1;
    if (!db_rows_next(first) || !db_rows_next(oldest))
        return 0;
    uint64_t end = db_get_u64(first, 0), at = db_get_u64(oldest, 0);
    while (at < end && clock_monotonic_ms() < retain->until_ms) {
        at = retain->first_seq = end - at > TRIM_BATCH ? at + TRIM_BATCH : end;
        if (db_transaction(db, trim_body, retain, err) < 0)
            return -1;
    }
    return 0;
}

int audit_retain(struct db *db, const struct keyring *ring, unsigned most_ms, uint64_t *removed,
                 bool *more, struct error **err)
{
    db_rows_auto *teams = NULL;
    int64_t until_ms = most_ms ? clock_monotonic_ms() + most_ms : INT64_MAX;
    int64_t spared_ms = clock_now_ms() - SPARED_MS;
    *removed = 0;
    *more = false;
    if (db_query(db, &teams_statement, DB_NO_ARGS, &teams, err) < 0)
        return -1;
    while (db_rows_next(teams)) {
        int64_t kept_ms = clock_now_ms() - (int64_t)db_get_u64(teams, 1) * DAY_MS;
        struct retain retain = {
            .ring = ring,
            .team_id = db_get_text(teams, 0),
            .before_ms = kept_ms < spared_ms ? kept_ms : spared_ms,
            .until_ms = until_ms,
        };
        if (prune(db, &retain, removed, err) < 0)
            return -1;
        *more = retain.is_said && clock_monotonic_ms() >= until_ms;
        if (*more)
            return 0;
    }
    struct retain all = {.ring = ring, .team_id = "", .until_ms = until_ms};
    int result = trim(db, &all, err);
    *more = clock_monotonic_ms() >= until_ms;
    return result;
}
