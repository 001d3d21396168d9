/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "sandbox/sandbox_events.h"

#define DEADLINES_BATCH  100
#define TEAMS_MAX        10000
#define NEAR_EVERY_MS    (60 * 60 * 1000)
#define DENIALS_EVERY_MS (60 * 1000)

#define NEAR_ROWS \
    "state = 'ready' AND deadline_at_ms <= ? AND NOT (deadline_told_ms <=> deadline_at_ms)"
DB_STATEMENT(near_statement) = {"sandbox_event.near",
                                "SELECT id FROM sandboxes WHERE " NEAR_ROWS " LIMIT ?"};
DB_STATEMENT(near_lock_statement) = {
    "sandbox_event.near_lock",
    "SELECT team_id, deadline_at_ms, on_timeout FROM sandboxes WHERE id = ? AND " NEAR_ROWS
    " FOR UPDATE SKIP LOCKED"};
DB_STATEMENT(near_told_statement) = {
    "sandbox_event.near_told",
    "UPDATE sandboxes SET deadline_told_ms = deadline_at_ms WHERE id = ?"};
DB_STATEMENT(quotas_statement) = {
    "sandbox_event.quotas",
    "SELECT t.id, t.used_sandboxes, p.sandboxes, t.used_vcpus, p.vcpus, t.used_memory_mb,"
    " p.memory_mb FROM teams t JOIN plans p ON p.name = t.plan"
    " WHERE (t.used_sandboxes * 10 >= CAST(p.sandboxes AS SIGNED) * 9 AND t.used_sandboxes > 0)"
    " OR (t.used_vcpus * 10 >= CAST(p.vcpus AS SIGNED) * 9 AND t.used_vcpus > 0)"
    " OR (t.used_memory_mb * 10 >= CAST(p.memory_mb AS SIGNED) * 9 AND t.used_memory_mb > 0)"
    " LIMIT ?"};
DB_STATEMENT(denied_told_statement) = {
    "sandbox_event.denied_told",
    "UPDATE sandboxes SET denials_told = ? WHERE id = ? AND denials_told = ?"};
DB_STATEMENT(silent_lock_statement) = {
    "sandbox_event.silent_lock",
    "SELECT team_id FROM sandboxes WHERE id = ? AND incarnation = ? AND state = 'ready'"
    " AND (silent_since_ms IS NULL) = ? FOR UPDATE"};
DB_STATEMENT(silent_statement) = {
    "sandbox_event.silent",
    "UPDATE sandboxes SET silent_since_ms = ?, version = UUID_SHORT() WHERE id = ?"};

/* --- deadlines --- */

struct near_one {
    const char *id;
    int64_t until_ms;
};

/* A process that holds the row's lock moves the deadline; the next round announces it. */
static int near_body(struct db *db, void *context, struct error **err)
{
    const struct near_one *one = context;
    db_rows_auto *rows = NULL;
    char at[CLOCK_ISO8601_SIZE];
    if (db_query(db, &near_lock_statement, DB_ARGS(db_text(one->id), db_i64(one->until_ms)), &rows,
                 err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    const struct event_note note = {EVENT_SANDBOX_DEADLINE_NEAR, db_get_text(rows, 0), one->id,
                                    json_pack("{s:s, s:s}", "deadline",
                                              clock_format_iso8601(db_get_i64(rows, 1), at),
                                              "on_timeout", db_get_text(rows, 2))};
    if (event_add(db, &note, err) < 0)
        return -1;
    return db_exec(db, &near_told_statement, DB_ARGS(db_text(one->id)), NULL, err);
}

int sandbox_tell_deadlines(struct db *db, uint64_t near_ms, bool *more, struct error **err)
{
    db_rows_auto *rows = NULL;
    struct near_one one = {.until_ms = clock_in_ms(near_ms)};
    unsigned count = 0;
    if (db_query(db, &near_statement, DB_ARGS(db_i64(one.until_ms), db_u64(DEADLINES_BATCH)), &rows,
                 err) < 0)
        return -1;
    for (; db_rows_next(rows); count++) {
        one.id = db_get_text(rows, 0);
        if (db_transaction(db, near_body, &one, err) < 0)
            return -1;
    }
    *more = count == DEADLINES_BATCH;
    return 0;
}

/* --- quotas --- */

static json_t *amount(const struct db_rows *rows, unsigned column)
{
    int64_t used = db_get_i64(rows, column);
    return json_pack("{s:I, s:I}", "used", (json_int_t)(used < 0 ? 0 : used), "limit",
                     (json_int_t)db_get_u64(rows, column + 1));
}

int sandbox_tell_quotas(struct db *db, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &quotas_statement, DB_ARGS(db_u64(TEAMS_MAX)), &rows, err) < 0)
        return -1;
    while (db_rows_next(rows)) {
        const char *team_id = db_get_text(rows, 0);
        const struct event_seldom near = {
            .note = {EVENT_QUOTA_NEAR, team_id, NULL,
                     json_pack("{s:o, s:o, s:o}", "sandboxes", amount(rows, 1), "vcpus",
                               amount(rows, 3), "memory_mb", amount(rows, 5))},
            .subject = team_id,
            .interval_ms = NEAR_EVERY_MS,
        };
        if (event_add_seldom(db, &near, err) < 0)
            return -1;
    }
    return 0;
}

/* --- denials --- */

struct denied {
    const char *sandbox_id;
    uint64_t told, total;
};

/* Only one of several dispatchers writes the event. */
static int denied_body(struct db *db, void *context, struct error **err)
{
    const struct denied *denied = context;
    uint64_t taken;
    if (db_exec(db, &denied_told_statement,
                DB_ARGS(db_u64(denied->total), db_text(denied->sandbox_id), db_u64(denied->told)),
                &taken, err) < 0)
        return -1;
    return taken ? 0 : error_set(err, ERR_DB_DEADLOCK, "another process has recorded the denials");
}

int sandbox_tell_denials(struct db *db, const char *team_id, const char *sandbox_id, uint64_t told,
                         uint64_t total, struct error **err)
{
    /* A lower total comes from a firewall that was restarted. */
    uint64_t fresh = total > told ? total - told : total;
    struct denied denied = {sandbox_id, told, total};
    if (!fresh)
        return db_exec(db, &denied_told_statement,
                       DB_ARGS(db_u64(total), db_text(sandbox_id), db_u64(told)), NULL, err);
    const struct event_seldom seldom = {
        .note = {EVENT_NETWORK_DENIED, team_id, sandbox_id,
                 json_pack("{s:I}", "count", (json_int_t)fresh)},
        .subject = sandbox_id,
        .interval_ms = DENIALS_EVERY_MS,
        .also = denied_body,
        .context = &denied,
    };
    return event_add_seldom(db, &seldom, err);
}

/* --- silence --- */

struct silence {
    const char *id;
    uint32_t incarnation;
    int64_t since_ms;
};

static int silence_body(struct db *db, void *context, struct error **err)
{
    const struct silence *silence = context;
    db_rows_auto *rows = NULL;
    char since[CLOCK_ISO8601_SIZE];
    bool begins = silence->since_ms;
    if (db_query(db, &silent_lock_statement,
                 DB_ARGS(db_text(silence->id), db_u64(silence->incarnation), db_bool(begins)),
                 &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    const struct event_note note = {
        begins ? EVENT_SANDBOX_SILENT : EVENT_SANDBOX_ANSWERING, db_get_text(rows, 0), silence->id,
        begins ? json_pack("{s:s}", "since", clock_format_iso8601(silence->since_ms, since))
               : NULL};
    if (event_add(db, &note, err) < 0)
        return -1;
    return db_exec(db, &silent_statement,
                   DB_ARGS(begins ? db_i64(silence->since_ms) : db_null(), db_text(silence->id)),
                   NULL, err);
}

int sandbox_note_silence(struct db *db, const char *id, uint32_t incarnation, int64_t since_ms,
                         struct error **err)
{
    struct silence silence = {id, incarnation, since_ms};
    return db_transaction(db, silence_body, &silence, err);
}
