/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/archive_row.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/str.h"

#define FAILURE_MAX 500 /* bytes; the column counts characters */

#define COLUMNS                                                                             \
    "SELECT id, state, object_id, team_id, incarnation, COALESCE(promised_host_id, 0),"     \
    " COALESCE(object_key, ''), COALESCE(upload, ''), plain_bytes, stored_bytes, attempts," \
    " kind, evicted_at_ms IS NOT NULL FROM archives"

DB_STATEMENT(current_statement) = {"archive.current", COLUMNS " WHERE current_of = ?"};
DB_STATEMENT(has_statement) = {"archive.has",
                               "SELECT 1 FROM archives WHERE current_of = ? AND state = 'whole'"};
DB_STATEMENT(promise_statement) = {
    "archive.promise", "UPDATE archives SET promised_host_id = ?, evicted_at_ms = ? WHERE id = ?"};
DB_STATEMENT(evicted_statement) = {"archive.evicted",
                                   "UPDATE archives SET evicted_at_ms = ? WHERE id = ?"};
/* Not after an operation that has changed the sandbox and failed. */
DB_STATEMENT(follow_statement) = {"archive.follow",
                                  "UPDATE archives SET incarnation = incarnation + 1"
                                  " WHERE current_of = ? AND state = 'whole'"
                                  " AND incarnation + 1 = ?"};
#define OUTDATE(rows)                                                                       \
    "UPDATE " rows " o LEFT JOIN archives a ON a.current_of = o.id SET o.archived = 0,"     \
    " a.current_of = NULL, a.state = 'removing', a.lease_owner = '', a.lease_until_ms = ?," \
    " a.attempts = 0, a.failure = '' WHERE o.id = ?"
static const struct db_statement outdate_statements[ARCHIVE_KINDS] = {
    [ARCHIVE_SANDBOX] = {"archive.outdate", OUTDATE("sandboxes")},
    [ARCHIVE_CHECKPOINT] = {"archive.outdate_checkpoint", OUTDATE("checkpoints")},
};

DB_STATEMENTS(everywhere) = {&outdate_statements[ARCHIVE_SANDBOX],
                             &outdate_statements[ARCHIVE_CHECKPOINT]};

const struct lease_table archive_storing = LEASE_TEAMS_OWNED(
    "archives.storing", "archives", "id", "lease_until_ms", "state = 'storing'", "team_id");
const struct lease_table archive_removing = LEASE_TEAMS_OWNED(
    "archives.removing", "archives", "id", "lease_until_ms", "state = 'removing'", "team_id");

DB_STATEMENT(get_statement) = {"archive.get", COLUMNS " WHERE id = ?"};
DB_STATEMENT(insert_statement) = {
    "archive.insert",
    "INSERT INTO archives (id, kind, object_id, current_of, team_id, state, incarnation,"
    " lease_owner, lease_until_ms, attempts, created_at_ms)"
    " VALUES (?, ?, ?, ?, ?, 'storing', ?, ?, ?, 1, ?)"};
DB_STATEMENT(begun_statement) = {
    "archive.begun",
    "UPDATE archives SET object_key = ?, upload = ?, incarnation = ? WHERE id = ? AND"
    " lease_owner = ? AND state = 'storing'"};
DB_STATEMENT(whole_statement) = {
    "archive.whole",
    "UPDATE archives SET state = 'whole', upload = NULL, plain_bytes = ?, stored_bytes = ?,"
    " failure = '', lease_until_ms = NULL, whole_at_ms = ? WHERE id = ? AND lease_owner = ?"
    " AND state = 'storing'"};
DB_STATEMENT(failed_statement) = {
    "archive.failed",
    "UPDATE archives SET lease_until_ms = ?, failure = ? WHERE id = ? AND lease_owner = ?"
    " AND state <> 'whole'"};
DB_STATEMENT(drop_statement) = {
    "archive.drop",
    "UPDATE archives a LEFT JOIN sandboxes s ON s.id = a.current_of"
    " LEFT JOIN checkpoints c ON c.id = a.current_of SET s.archived = 0, c.archived = 0,"
    " a.current_of = NULL, a.state = 'removing', a.lease_owner = '', a.lease_until_ms = ?,"
    " a.attempts = 0 WHERE a.id = ?"};
/* Keep the row of a lost copy when the host has no data either: the object may be found again. */
#define MAY_BE_MADE_AGAIN(rows)                                       \
    "SELECT 1 FROM archives a JOIN " rows " o ON o.id = a.current_of" \
    " JOIN hosts h ON h.id = o.host_id"                               \
    " WHERE a.id = ? AND h.lost_at_ms IS NULL AND a.promised_host_id IS NULL"
DB_STATEMENT(again_statement) = {
    "archive.may_be_made_again",
    MAY_BE_MADE_AGAIN("sandboxes") " UNION ALL " MAY_BE_MADE_AGAIN("checkpoints")};
DB_STATEMENT(forget_statement) = {"archive.forget",
                                  "DELETE FROM archives WHERE id = ? AND state = 'removing'"};
DB_STATEMENT(failing_statement) = {
    "archive.failing", "SELECT COUNT(*) FROM archives WHERE state IN ('storing', 'removing')"
                       " AND failure LIKE '" ARCHIVE_AT "%'"};
DB_STATEMENT(knows_statement) = {"archive.knows", "SELECT 1 FROM archives WHERE object_key = ?"};
DB_STATEMENT(list_statement) = {"archive.list",
                                COLUMNS " WHERE state = 'whole' AND id > ? ORDER BY id LIMIT ?"};

DB_STATEMENT(report_statement) = {
    "archive.report",
    "SELECT state, COUNT(*), COALESCE(SUM(stored_bytes), 0), COALESCE(MAX(whole_at_ms), 0),"
    " SUM(failure <> ''), kind, COUNT(evicted_at_ms) FROM archives GROUP BY state, kind"};
DB_STATEMENT(behind_statement) = {
    "archive.behind",
    "SELECT COUNT(*), COALESCE(MIN(l.at_ms), 0) FROM ("
    " SELECT s.stopped_at_ms AS at_ms FROM sandboxes s LEFT JOIN archives a ON a.current_of = s.id"
    "   WHERE s.state = 'stopped' AND s.archived <> 2 AND s.stopped_at_ms <= ?"
    "   AND COALESCE(a.state, '') <> 'whole'"
    " UNION ALL"
    " SELECT c.created_at_ms FROM checkpoints c LEFT JOIN archives a ON a.current_of = c.id"
    "   WHERE c.state = 'ready' AND c.archived <> 2 AND c.created_at_ms <= ?"
    "   AND COALESCE(a.state, '') <> 'whole') l"};
DB_STATEMENT(failure_statement) = {
    "archive.failure", "SELECT failure FROM archives WHERE state <> 'whole' AND failure <> ''"
                       " ORDER BY lease_until_ms DESC LIMIT 1"};

DB_STATEMENTS(work) = {&archive_storing.line,  &archive_storing.due,   &archive_storing.take,
                       &archive_storing.renew, &archive_removing.line, &archive_removing.due,
                       &archive_removing.take, &archive_removing.renew};

/* --- reading --- */

static enum archive_state state_of(const char *name)
{
    if (str_equal(name, "storing"))
        return ARCHIVE_STORING;
    if (str_equal(name, "whole"))
        return ARCHIVE_WHOLE;
    if (str_equal(name, "removing"))
        return ARCHIVE_REMOVING;
    panic("a row of the archive has an unknown state");
}

static void read_row(const struct db_rows *rows, struct archive *archive)
{
    *archive = (struct archive){
        .state = state_of(db_get_text(rows, 1)),
        .incarnation = (uint32_t)db_get_u64(rows, 4),
        .promised_host_id = (uint32_t)db_get_u64(rows, 5),
        .upload = xstrdup(db_get_text(rows, 7)),
        .plain_bytes = db_get_u64(rows, 8),
        .stored_bytes = db_get_u64(rows, 9),
        .attempts = (unsigned)db_get_u64(rows, 10),
        .kind = (enum archive_kind)db_get_name(rows, 11, archive_kind_names, ARCHIVE_KINDS),
        .evicted = db_get_u64(rows, 12),
    };
    db_copy_text(archive->id, rows, 0);
    db_copy_text(archive->object_id, rows, 2);
    db_copy_text(archive->team_id, rows, 3);
    db_copy_text(archive->key, rows, 6);
}

static int get_one(struct db *db, const struct db_statement *statement, const char *key,
                   struct archive *archive, struct error **err)
{
    bool found;
    *archive = (struct archive){0};
    return DB_FIND(db, statement, DB_ARGS(db_text(key)), read_row, archive, &found, err);
}

int archive_current(struct db *db, const char *object_id, struct archive *archive,
                    struct error **err)
{
    return get_one(db, &current_statement, object_id, archive, err);
}

int archive_has(struct db *db, const char *object_id, bool *has, struct error **err)
{
    return db_query_finds(db, &has_statement, DB_ARGS(db_text(object_id)), has, err);
}

int archive_row_knows(struct db *db, const char *key, bool *known, struct error **err)
{
    return db_query_finds(db, &knows_statement, DB_ARGS(db_text(key)), known, err);
}

int archive_row_list(struct db *db, const char *after, unsigned limit, struct archive *list,
                     unsigned *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    *count = 0;
    if (db_query(db, &list_statement, DB_ARGS(db_text(after), db_u64(limit)), &rows, err) < 0)
        return -1;
    while (*count < limit && db_rows_next(rows))
        read_row(rows, &list[(*count)++]);
    return 0;
}

int archive_row_failing(struct db *db, uint64_t *count, struct error **err)
{
    return DB_NUMBER(db, &failing_statement, DB_NO_ARGS, count, err);
}

/* --- writing --- */

static struct db_value evicted_value(bool evicted)
{
    return evicted ? db_i64(clock_now_ms()) : db_null();
}

int archive_promise(struct db *db, const char *id, uint32_t host_id, bool evicted,
                    struct error **err)
{
    return db_exec(db, &promise_statement,
                   DB_ARGS(db_u64(host_id), evicted_value(evicted), db_text(id)), NULL, err);
}

int archive_row_fetched(struct db *db, const char *id, struct error **err)
{
    return db_exec(db, &evicted_statement, DB_ARGS(evicted_value(false), db_text(id)), NULL, err);
}

int archive_row_evicted(struct db *db, const char *id, struct error **err)
{
    return db_exec(db, &evicted_statement, DB_ARGS(evicted_value(true), db_text(id)), NULL, err);
}

int archive_follow(struct db *db, const char *sandbox_id, uint32_t incarnation, struct error **err)
{
    return db_exec(db, &follow_statement, DB_ARGS(db_text(sandbox_id), db_u64(incarnation)), NULL,
                   err);
}

int archive_outdate(struct db *db, enum archive_kind kind, const char *object_id,
                    struct error **err)
{
    return db_exec(db, &outdate_statements[kind],
                   DB_ARGS(db_i64(clock_now_ms()), db_text(object_id)), NULL, err);
}

int archive_row_insert(struct db *db, struct archive *archive, const char *owner, uint64_t lease_s,
                       struct error **err)
{
    id_new("arc_", archive->id);
    archive->state = ARCHIVE_STORING;
    archive->attempts = 1;
    return db_exec(db, &insert_statement,
                   DB_ARGS(db_text(archive->id), db_text(archive_kind_names[archive->kind]),
                           db_text(archive->object_id), db_text(archive->object_id),
                           db_text(archive->team_id), db_u64(archive->incarnation), db_text(owner),
                           db_i64(clock_in_s(lease_s)), db_i64(clock_now_ms())),
                   NULL, err);
}

struct taking {
    const struct lease_table *table;
    const char *owner;
    uint64_t lease_ms;
    struct archive *archive;
};

static int take_body(struct db *db, void *context, struct error **err)
{
    struct taking *taking = context;
    char id[LEASE_KEY_SIZE];
    archive_deinit(taking->archive);
    *taking->archive = (struct archive){0};
    if (lease_take(db, taking->table, taking->owner, taking->lease_ms, id, NULL, err) < 0)
        return -1;
    return *id ? get_one(db, &get_statement, id, taking->archive, err) : 0;
}

int archive_row_take(struct db *db, const struct lease_table *table, const char *owner,
                     uint64_t lease_s, struct archive *archive, struct error **err)
{
    struct taking taking = {table, owner, lease_s * 1000, archive};
    return db_transaction(db, take_body, &taking, err);
}

static int must_be_ours(uint64_t affected, const struct archive *archive, struct error **err)
{
    return affected
               ? 0
               : error_set(err, ERR_LEASE_LOST, "another process has taken copy %s", archive->id);
}

int archive_row_begun(struct db *db, const struct archive *archive, const char *owner,
                      struct error **err)
{
    uint64_t affected;
    if (db_exec(db, &begun_statement,
                DB_ARGS(db_text(archive->key), db_text(archive->upload),
                        db_u64(archive->incarnation), db_text(archive->id), db_text(owner)),
                &affected, err) < 0)
        return -1;
    return must_be_ours(affected, archive, err);
}

int archive_row_whole(struct db *db, const struct archive *archive, const char *owner,
                      struct error **err)
{
    uint64_t affected;
    if (db_exec(db, &whole_statement,
                DB_ARGS(db_u64(archive->plain_bytes), db_u64(archive->stored_bytes),
                        db_i64(clock_now_ms()), db_text(archive->id), db_text(owner)),
                &affected, err) < 0)
        return -1;
    return must_be_ours(affected, archive, err);
}

/* Cut to the size of the column, never inside a UTF-8 sequence. */
int archive_row_failed(struct db *db, const struct archive *archive, const char *owner,
                       uint64_t delay_ms, const char *failure, struct error **err)
{
    return db_exec(db, &failed_statement,
                   DB_ARGS(db_i64(clock_in_ms(delay_ms)), db_text_cut(failure, FAILURE_MAX),
                           db_text(archive->id), db_text(owner)),
                   NULL, err);
}

int archive_row_drop(struct db *db, const char *id, struct error **err)
{
    return db_exec(db, &drop_statement, DB_ARGS(db_i64(clock_now_ms()), db_text(id)), NULL, err);
}

int archive_row_may_be_made_again(struct db *db, const char *id, bool *may, struct error **err)
{
    return db_query_finds(db, &again_statement, DB_ARGS(db_text(id), db_text(id)), may, err);
}

int archive_row_forget(struct db *db, const char *id, struct error **err)
{
    return db_exec(db, &forget_statement, DB_ARGS(db_text(id)), NULL, err);
}

/* --- reports --- */

static void add_state(const struct db_rows *rows, struct archive_report *report)
{
    uint64_t count = db_get_u64(rows, 1), failing = db_get_u64(rows, 4);
    int64_t newest_at_ms = db_get_i64(rows, 3);
    switch (state_of(db_get_text(rows, 0))) {
    case ARCHIVE_STORING:
        report->storing += count;
        report->failing += failing;
        break;
    case ARCHIVE_WHOLE:
        report->whole[db_get_name(rows, 5, archive_kind_names, ARCHIVE_KINDS)] = count;
        report->whole_bytes += db_get_u64(rows, 2);
        report->evicted += db_get_u64(rows, 6);
        if (report->newest_at_ms < newest_at_ms)
            report->newest_at_ms = newest_at_ms;
        break;
    default:
        report->removing += count;
        report->failing += failing;
        break;
    }
}

static int read_behind(struct db *db, uint64_t after_s, struct archive_report *report,
                       struct error **err)
{
    db_rows_auto *rows = NULL;
    int64_t after_ms = (int64_t)after_s * 1000;
    struct db_value before = db_i64(clock_now_ms() - after_ms);
    if (db_query(db, &behind_statement, DB_ARGS(before, before), &rows, err) < 0)
        return -1;
    db_rows_next(rows);
    report->behind = db_get_u64(rows, 0);
    report->behind_since_ms = report->behind ? db_get_i64(rows, 1) + after_ms : 0;
    return 0;
}

int archive_report(struct db *db, uint64_t after_s, struct archive_report *report,
                   struct error **err)
{
    db_rows_auto *states = NULL, *failures = NULL;
    *report = (struct archive_report){0};
    if (db_query(db, &report_statement, DB_NO_ARGS, &states, err) < 0)
        return -1;
    while (db_rows_next(states))
        add_state(states, report);
    if (read_behind(db, after_s, report, err) < 0 ||
        db_query(db, &failure_statement, DB_NO_ARGS, &failures, err) < 0)
        return -1;
    if (db_rows_next(failures))
        db_copy_text(report->failure, failures, 0);
    return 0;
}
