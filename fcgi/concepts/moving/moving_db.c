/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/mem.h"
#include "moving/moving.h"

#define SELECT_MOVE                                                               \
    "SELECT id, kind, team_id, group_id, state, asked, from_host_id, to_host_id," \
    " clear_host_id, generation, deadline_at_ms, lease_owner, attempts, last_error FROM moves "

DB_STATEMENT(get_statement) = {"moving.get", SELECT_MOVE "WHERE id = ?"};
DB_STATEMENT(find_statement) = {"moving.find", SELECT_MOVE "WHERE id = ? AND state <> 'failed'"};
DB_STATEMENT(group_statement) = {"moving.group", SELECT_MOVE
                                 "WHERE group_id = ? AND state <> 'failed' ORDER BY id FOR UPDATE"};
DB_STATEMENT(forget_failed_statement) = {"moving.forget_failed",
                                         "DELETE FROM moves WHERE id = ? AND state = 'failed'"};
DB_STATEMENT(insert_statement) = {
    "moving.insert",
    "INSERT INTO moves (id, kind, team_id, group_id, state, asked, from_host_id, to_host_id,"
    " generation, created_at_ms) VALUES (?, ?, ?, ?, 'copying', ?, ?, ?, ?, ?)"};
DB_STATEMENT(owner_statement) = {
    "moving.owner",
    "SELECT 1 FROM moves WHERE id = ? AND lease_owner = ? AND attempts = ? AND state = ?"
    " FOR UPDATE"};
/* Remove a copy next: the old one, or the incomplete one. */
DB_STATEMENT(clear_statement) = {
    "moving.clear",
    "UPDATE moves SET clear_host_id = IF(?, from_host_id, to_host_id), state = 'clearing',"
    " last_error = ?, lease_owner = '', lease_until_ms = 0, attempts = 0, asked = 0"
    " WHERE group_id = ? AND state <> 'failed'"};
DB_STATEMENT(copied_statement) = {
    "moving.copied",
    "UPDATE moves SET state = 'copied', lease_owner = '', lease_until_ms = 0 WHERE id = ?"};
DB_STATEMENT(left_statement) = {"moving.left_of_group",
                                "SELECT COUNT(*) FROM moves WHERE group_id = ?"
                                " AND state NOT IN ('copied', 'failed')"};
DB_STATEMENT(failed_statement) = {
    "moving.failed",
    "UPDATE moves SET state = 'failed', finished_at_ms = ?, last_error = ? WHERE id = ?"};
DB_STATEMENT(failure_statement) = {"moving.failure", "SELECT last_error FROM moves WHERE id = ?"};
DB_STATEMENT(delete_statement) = {"moving.delete", "DELETE FROM moves WHERE id = ? AND kind = ?"};
DB_STATEMENT(note_statement) = {
    "moving.note",
    "UPDATE moves SET generation = ?, deadline_at_ms = ? WHERE id = ? AND state = 'copying'"};
DB_STATEMENT(extend_statement) = {"moving.extend",
                                  "UPDATE moves SET deadline_at_ms = ?"
                                  " WHERE id = ? AND state <> 'failed' AND deadline_at_ms > 0"};
DB_STATEMENT(counts_statement) = {
    "moving.counts", "SELECT kind, state, COUNT(*), COALESCE(MAX(last_error), '') FROM moves"
                     " GROUP BY kind, state ORDER BY kind, state LIMIT 24"};
/* A failed move stays until the object moves again; delete those of objects that were deleted
 * meanwhile. */
DB_STATEMENT(purge_statement) = {
    "moving.purge", "DELETE FROM moves WHERE state = 'failed' AND finished_at_ms < ? LIMIT 1000"};
#define DUE "state IN ('copying', 'clearing')"
static const struct lease_table held =
    LEASE_TABLE_OWNED_AS("moving.held", "moves", "id", "lease_until_ms", DUE);
/* Copy the objects that a team's requests wait for one after the other, so that other teams do not
 * wait behind its volumes. Templates are shared by all teams. */
#define TURN                                                                     \
    " AND asked = 1 AND (kind = 'template' OR NOT EXISTS (SELECT 1 FROM moves o" \
    "   WHERE o.team_id = moves.team_id AND o.state = 'copying' AND o.asked = 1" \
    "   AND o.kind <> 'template' AND o.id <> moves.id AND o.lease_owner <> ''"   \
    "   AND o.lease_until_ms > " DB_NOW_MS "))"
static const struct lease_table due[] = {
    LEASE_TEAMS_OWNED("moving.others", "moves", "id", "lease_until_ms", DUE " AND asked = 0",
                      "team_id"),
    LEASE_TEAMS_OWNED("moving.asked", "moves", "id", "lease_until_ms", DUE TURN, "team_id"),
};

DB_STATEMENTS(statements) = {&held.renew,  &due[0].line, &due[1].line, &due[0].due,
                             &due[0].take, &due[1].due,  &due[1].take};

static const char *const kind_names[] = {
    [MOVE_CHECKPOINT] = "checkpoint",
    [MOVE_VOLUME] = "volume",
    [MOVE_TEMPLATE] = "template",
    [MOVE_SANDBOX] = "sandbox",
};
static const char *const state_names[] = {
    [MOVE_COPYING] = "copying",
    [MOVE_COPIED] = "copied",
    [MOVE_CLEARING] = "clearing",
    [MOVE_FAILED] = "failed",
};

static void read_move(const struct db_rows *rows, struct move *move)
{
    unsigned c = 0;
    db_copy_text(move->id, rows, c++);
    move->kind = (enum move_kind)db_get_name(rows, c++, kind_names, ARRAY_SIZE(kind_names));
    db_copy_text(move->team_id, rows, c++);
    db_copy_text(move->group_id, rows, c++);
    move->state = (enum move_state)db_get_name(rows, c++, state_names, ARRAY_SIZE(state_names));
    move->asked = db_get_bool(rows, c++);
    move->from_host = (uint32_t)db_get_u64(rows, c++);
    move->to_host = (uint32_t)db_get_u64(rows, c++);
    move->clear_host = (uint32_t)db_get_u64(rows, c++);
    move->generation = db_get_u64(rows, c++);
    move->deadline_at_ms = db_get_i64(rows, c++);
    db_copy_text(move->lease_owner, rows, c++);
    move->attempts = (unsigned)db_get_u64(rows, c++);
    db_copy_text(move->last_error, rows, c++);
}

/* --- starting and taking --- */

int move_begin(struct db *db, const struct move *move, struct error **err)
{
    struct move earlier;
    bool found;
    if (db_exec(db, &forget_failed_statement, DB_ARGS(db_text(move->id)), NULL, err) < 0 ||
        move_find(db, move->id, &earlier, &found, err) < 0)
        return -1;
    if (found)
        return error_set(err, ERR_SANDBOX_BUSY, "%s is being moved already.", move->id);
    return db_exec(db, &insert_statement,
                   DB_ARGS(db_text(move->id), db_text(kind_names[move->kind]),
                           db_text(move->team_id), db_text(move->group_id), db_bool(move->asked),
                           db_u64(move->from_host), db_u64(move->to_host), db_u64(move->generation),
                           db_i64(clock_now_ms())),
                   NULL, err);
}

struct take {
    const char *lease_owner;
    uint64_t lease_ms;
    bool asked;
    struct move *move;
};

static int take_body(struct db *db, void *context, struct error **err)
{
    struct take *take = context;
    char id[LEASE_KEY_SIZE];
    unsigned attempts;
    *take->move = (struct move){.id = ""};
    if (lease_take(db, &due[take->asked], take->lease_owner, take->lease_ms, id, &attempts, err) <
        0)
        return -1;
    if (!*id)
        return 0;
    db_rows_auto *rows = NULL;
    if (db_query(db, &get_statement, DB_ARGS(db_text(id)), &rows, err) < 0)
        return -1;
    db_rows_next(rows);
    read_move(rows, take->move);
    return 0;
}

int move_take(struct db *db, const char *lease_owner, uint64_t lease_s, bool asked,
              struct move *move, struct error **err)
{
    struct take take = {lease_owner, lease_s * 1000, asked, move};
    return db_transaction(db, take_body, &take, err);
}

void move_keep(struct db *db, const struct move *move, uint64_t lease_s, struct lease *lease)
{
    lease_keep(lease, db, &held, move->id, move->lease_owner, lease_s * 1000);
}

int move_defer(struct db *db, const struct move *move, uint64_t delay_ms, struct error **err)
{
    return lease_defer(db, &held, move->id, move->lease_owner, delay_ms, err);
}

int move_check_owner(struct db *db, const struct move *move, struct error **err)
{
    bool ours;
    if (db_query_finds(db, &owner_statement,
                       DB_ARGS(db_text(move->id), db_text(move->lease_owner),
                               db_u64(move->attempts), db_text(state_names[move->state])),
                       &ours, err) < 0)
        return -1;
    return ours ? 0
                : error_set(err, ERR_LEASE_LOST, "another process has taken the move of %s",
                            move->id);
}

/* --- continuing --- */

int move_clear_from(struct db *db, const char *group_id, bool arrived, const char *failure,
                    struct error **err)
{
    autofree char *cut = xstrndup(failure, MOVE_FAILURE_SIZE - 1);
    return db_exec(db, &clear_statement, DB_ARGS(db_bool(arrived), db_text(cut), db_text(group_id)),
                   NULL, err);
}

int move_copied(struct db *db, const struct move *move, bool *all, struct error **err)
{
    uint64_t left;
    if (db_exec(db, &copied_statement, DB_ARGS(db_text(move->id)), NULL, err) < 0 ||
        DB_NUMBER(db, &left_statement, DB_ARGS(db_text(move->group_id)), &left, err) < 0)
        return -1;
    *all = left == 0;
    return 0;
}

int move_group(struct db *db, const char *group_id, struct move **moves, unsigned *count,
               struct error **err)
{
    return DB_LIST(db, &group_statement, DB_ARGS(db_text(group_id)), read_move, moves, count, err);
}

int move_end(struct db *db, const struct move *move, struct error **err)
{
    if (!move->last_error[0])
        return move_forget(db, move->id, move->kind, err);
    return db_exec(db, &failed_statement,
                   DB_ARGS(db_i64(clock_now_ms()), db_text(move->last_error), db_text(move->id)),
                   NULL, err);
}

int move_forget(struct db *db, const char *id, enum move_kind kind, struct error **err)
{
    return db_exec(db, &delete_statement, DB_ARGS(db_text(id), db_text(kind_names[kind])), NULL,
                   err);
}

int move_note(struct db *db, const char *id, uint64_t generation, int64_t deadline_at_ms,
              struct error **err)
{
    uint64_t matched;
    if (db_exec(db, &note_statement,
                DB_ARGS(db_u64(generation), db_i64(deadline_at_ms), db_text(id)), &matched,
                err) < 0)
        return -1;
    return matched ? 0 : error_set(err, ERR_LEASE_LOST, "the move of %s has ended", id);
}

int move_extend(struct db *db, const char *sandbox_id, int64_t deadline_at_ms, struct error **err)
{
    return db_exec(db, &extend_statement, DB_ARGS(db_i64(deadline_at_ms), db_text(sandbox_id)),
                   NULL, err);
}

int move_find(struct db *db, const char *id, struct move *move, bool *found, struct error **err)
{
    return DB_FIND(db, &find_statement, DB_ARGS(db_text(id)), read_move, move, found, err);
}

int move_goes_on(struct db *db, const char *sandbox_id, bool *goes_on, struct error **err)
{
    struct move move;
    if (move_find(db, sandbox_id, &move, goes_on, err) < 0)
        return -1;
    *goes_on = *goes_on && move.generation != 0; /* it was paused for the move */
    return 0;
}

int move_leaving_ids(struct db *db, const struct db_statement *statement, int64_t failed_before_ms,
                     unsigned limit, char (*ids)[ID_SIZE], unsigned *count, struct error **err)
{
    *count = 0;
    return db_query_ids(db, statement, DB_ARGS(db_i64(failed_before_ms), db_u64(limit)), limit, ids,
                        count, err);
}

int move_failure(struct db *db, const char *id, char failure[MOVE_FAILURE_SIZE], struct error **err)
{
    return db_query_text(db, &failure_statement, DB_ARGS(db_text(id)), failure, MOVE_FAILURE_SIZE,
                         err);
}

int move_purge(struct db *db, int64_t before_ms, struct error **err)
{
    return db_exec_all(db, &purge_statement, DB_ARGS(db_i64(before_ms)), 1000, err);
}

int move_counts(struct db *db, struct move_count counts[MOVE_COUNTS_MAX], unsigned *count,
                struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &counts_statement, DB_NO_ARGS, &rows, err) < 0)
        return -1;
    for (*count = 0; *count < MOVE_COUNTS_MAX && db_rows_next(rows); ++*count) {
        struct move_count *one = &counts[*count];
        db_copy_text(one->kind, rows, 0);
        db_copy_text(one->state, rows, 1);
        one->count = db_get_u64(rows, 2);
        db_copy_text(one->last_error, rows, 3);
    }
    return 0;
}
