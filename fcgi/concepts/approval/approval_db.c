/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "account/account.h"
#include "approval/approval.h"
#include "base/clock.h"
#include "base/mem.h"
#include "event/event.h"
#include "network/sandbox_policy.h"
#include "worker/sweep_failure.h"

#define MS_PER_H        (60 * 60 * (int64_t)1000)

#define SELECT_APPROVAL "SELECT id, target, asked_at_ms, COALESCE(until_ms, 0) FROM approvals"
/* The row of a forgotten approval keeps the time of its event, so that new policies and answers
 * make no room for more events. Its target is its id. */
#define IS_SHOWN " AND target <> id"

DB_STATEMENT(list_statement) = {"approval.list",
                                SELECT_APPROVAL " WHERE sandbox_id = ?" IS_SHOWN
                                                " ORDER BY asked_at_ms DESC, id LIMIT 32"};
DB_STATEMENT(lock_statement) = {"approval.lock", SELECT_APPROVAL
                                " WHERE sandbox_id = ? AND id = ?" IS_SHOWN " FOR UPDATE"};
DB_STATEMENT(granted_statement) = {
    "approval.granted", "SELECT id, target FROM approvals WHERE sandbox_id = ? AND until_ms > ?"};
DB_STATEMENT(sandbox_statement) = {
    "approval.sandbox", "SELECT network FROM sandboxes WHERE id = ? AND visible = 1 FOR UPDATE"};
DB_STATEMENT(counts_statement) = {
    "approval.counts",
    "SELECT COALESCE(SUM(sandbox_id = ?), 0), COALESCE(SUM(user_id = ?), 0),"
    " COALESCE(SUM(team_id = ?), 0) FROM approvals WHERE (team_id = ? OR user_id = ?)"
    " AND asked_at_ms > ?"};
DB_STATEMENT(rows_statement) = {"approval.rows",
                                "SELECT COUNT(*) FROM approvals WHERE sandbox_id = ?"};
DB_STATEMENT(room_statement) = {
    "approval.room",
    "DELETE FROM approvals WHERE sandbox_id = ? AND until_ms IS NULL AND asked_at_ms <= ?"
    " ORDER BY asked_at_ms LIMIT 1"};
DB_STATEMENT(find_statement) = {"approval.find",
                                SELECT_APPROVAL " WHERE sandbox_id = ? AND target = ?"};
DB_STATEMENT(insert_statement) = {
    "approval.insert",
    "INSERT INTO approvals (id, sandbox_id, team_id, user_id, target, asked_at_ms)"
    " VALUES (?, ?, ?, ?, ?, ?)"};
DB_STATEMENT(again_statement) = {"approval.again",
                                 "UPDATE approvals SET asked_at_ms = ? WHERE id = ?"};
DB_STATEMENT(grant_statement) = {"approval.grant",
                                 "UPDATE approvals SET until_ms = ? WHERE id = ?"};
#define FORGET "UPDATE approvals SET target = id, until_ms = NULL WHERE "
DB_STATEMENT(forget_statement) = {"approval.forget", FORGET "id = ?"};
DB_STATEMENT(forget_all_statement) = {"approval.forget_all", FORGET "sandbox_id = ?"};
/* Teams take turns: a team may have many answers that end at once. */
DB_STATEMENT(ended_statement) = {
    "approval.ended", "SELECT d.sandbox_id FROM (SELECT sandbox_id, MIN(until_ms) AS at_ms,"
                      "   ROW_NUMBER() OVER (PARTITION BY team_id ORDER BY MIN(until_ms)) AS place"
                      "   FROM approvals WHERE until_ms <= ? GROUP BY team_id, sandbox_id) d"
                      " ORDER BY d.place, d.at_ms LIMIT 100"};
DB_STATEMENT(end_statement) = {"approval.end",
                               "DELETE FROM approvals WHERE sandbox_id = ? AND until_ms <= ?"};
/* A paused sandbox gets its policy when it is resumed. */
DB_STATEMENT(touch_statement) = {
    "approval.touch",
    "UPDATE sandboxes SET version = UUID_SHORT(), network_revision = network_revision + 1,"
    " network_due_at_ms = IF(reserved = 1, ?, network_due_at_ms) WHERE id = ? AND visible = 1"};
DB_STATEMENT(old_statement) = {
    "approval.old", "DELETE FROM approvals WHERE until_ms IS NULL AND asked_at_ms < ? LIMIT 1000"};

static void read_approval(const struct db_rows *rows, struct approval *approval)
{
    db_copy_text(approval->id, rows, 0);
    db_copy_text(approval->target, rows, 1);
    approval->asked_at_ms = db_get_i64(rows, 2);
    approval->until_ms = db_get_i64(rows, 3);
}

int approval_list(struct db *db, const char *sandbox_id, struct approval **list, unsigned *count,
                  struct error **err)
{
    db_rows_auto *rows = NULL;
    *list = NULL;
    *count = 0;
    if (db_query(db, &list_statement, DB_ARGS(db_text(sandbox_id)), &rows, err) < 0)
        return -1;
    *list = xcalloc(APPROVALS_PER_SANDBOX, sizeof **list);
    while (*count < APPROVALS_PER_SANDBOX && db_rows_next(rows))
        read_approval(rows, &(*list)[(*count)++]);
    return 0;
}

int approvals_compile(struct db *db, const char *sandbox_id, struct policy *policy,
                      struct error **err)
{
    db_rows_auto *rows = NULL;
    if (!policy->asks)
        return 0;
    if (db_query(db, &granted_statement, DB_ARGS(db_text(sandbox_id), db_i64(clock_now_ms())),
                 &rows, err) < 0)
        return -1;
    while (db_rows_next(rows)) {
        autofree char *origin = xasprintf("approvals/%s", db_get_text(rows, 0));
        if (policy_add(policy, db_get_text(rows, 1), POLICY_ALLOW, origin, err) < 0)
            return -1;
    }
    return 0;
}

/* --- asking --- */

struct asking {
    const struct approval_asker *asker;
    const json_t *entries;
    int64_t now_ms;
};

/* Whether the latest event about a known destination is old enough, and none allows it. */
static bool is_due(const struct approval *known, int64_t now_ms)
{
    return known->until_ms <= now_ms && known->asked_at_ms <= now_ms - APPROVAL_EVENT_MS;
}

/* Whether the sandbox, its user and its team had few enough events in the last minute. */
static int has_events_left(struct db *db, const struct asking *asking, bool *left,
                           struct error **err)
{
    const struct approval_asker *asker = asking->asker;
    db_rows_auto *rows = NULL;
    if (db_query(db, &counts_statement,
                 DB_ARGS(db_text(asker->sandbox_id), db_text(asker->user_id),
                         db_text(asker->team_id), db_text(asker->team_id), db_text(asker->user_id),
                         db_i64(asking->now_ms - APPROVAL_EVENT_MS)),
                 &rows, err) < 0)
        return -1;
    *left = db_rows_next(rows) && db_get_u64(rows, 0) < APPROVALS_SANDBOX_RATE &&
            db_get_u64(rows, 1) < APPROVALS_USER_RATE && db_get_u64(rows, 2) < APPROVALS_TEAM_RATE;
    return 0;
}

/* Make room for a row: delete the oldest request without an answer. *room is false when each is
 * new. */
static int make_room(struct db *db, const struct asking *asking, bool *room, struct error **err)
{
    const char *sandbox_id = asking->asker->sandbox_id;
    db_rows_auto *rows = NULL;
    uint64_t deleted;
    if (db_query(db, &rows_statement, DB_ARGS(db_text(sandbox_id)), &rows, err) < 0)
        return -1;
    *room = db_rows_next(rows) && db_get_u64(rows, 0) < APPROVALS_PER_SANDBOX;
    if (*room)
        return 0;
    if (db_exec(db, &room_statement,
                DB_ARGS(db_text(sandbox_id), db_i64(asking->now_ms - APPROVAL_EVENT_MS)), &deleted,
                err) < 0)
        return -1;
    *room = deleted;
    return 0;
}

static int write_event(struct db *db, const struct approval_asker *asker, const char *id,
                       const char *target, struct error **err)
{
    const struct event_note note = {EVENT_NETWORK_APPROVAL_REQUESTED, asker->team_id,
                                    asker->sandbox_id,
                                    json_pack("{s:s, s:s}", "approval", id, "target", target)};
    return event_add(db, &note, err);
}

static int insert(struct db *db, const struct asking *asking, const char *target,
                  struct error **err)
{
    const struct approval_asker *asker = asking->asker;
    char id[ID_SIZE];
    bool room;
    if (make_room(db, asking, &room, err) < 0)
        return -1;
    if (!room)
        return 0;
    if (db_exec(db, &insert_statement,
                DB_ARGS(db_text(id_new("apr_", id)), db_text(asker->sandbox_id),
                        db_text(asker->team_id), db_text(asker->user_id), db_text(target),
                        db_i64(asking->now_ms)),
                NULL, err) < 0)
        return -1;
    return write_event(db, asker, id, target, err);
}

static int ask_one(struct db *db, const struct asking *asking, const char *target,
                   struct error **err)
{
    db_rows_auto *rows = NULL;
    struct approval known;
    bool left;
    if (db_query(db, &find_statement, DB_ARGS(db_text(asking->asker->sandbox_id), db_text(target)),
                 &rows, err) < 0)
        return -1;
    bool is_known = db_rows_next(rows);
    if (is_known)
        read_approval(rows, &known);
    if (is_known && !is_due(&known, asking->now_ms))
        return 0;
    if (has_events_left(db, asking, &left, err) < 0)
        return -1;
    if (!left)
        return 0;
    if (!is_known)
        return insert(db, asking, target, err);
    if (db_exec(db, &again_statement, DB_ARGS(db_i64(asking->now_ms), db_text(known.id)), NULL,
                err) < 0)
        return -1;
    return write_event(db, asking->asker, known.id, target, err);
}

/* Whether an entry of the policy decides about the destination by now. The report of the host may
 * be older than the policy. */
static bool is_decided(const struct policy *policy, const char *target)
{
    error_auto ignored = NULL;
    struct policy_entry entry;
    struct policy_name name = {0};
    bool decided = true;
    if (policy_entry_parse(target, &entry, &ignored) < 0)
        return true;
    if (entry.kind == POLICY_NETWORK) {
        decided = policy_decide_address(policy, &entry.network, entry.port).rule;
    } else if (entry.port) {
        decided = policy_decide_name(policy, entry.name, entry.port).rule;
    } else {
        policy_name_find(policy, entry.name, &name);
        decided = name.listed;
    }
    policy_name_deinit(&name);
    policy_entry_deinit(&entry);
    return decided;
}

/* Lock the sandbox's row and read its policy; without a sandbox, the policy does not ask. */
static int lock_policy(struct db *db, const char *sandbox_id, struct policy *policy,
                       struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &sandbox_statement, DB_ARGS(db_text(sandbox_id)), &rows, err) < 0)
        return -1;
    return db_rows_next(rows) ? sandbox_policy_compile(db, db_get_text(rows, 0), policy, err) : 0;
}

/* The lock of the team's row lets one process count and write at a time. */
static int ask_body(struct db *db, void *context, struct error **err)
{
    const struct asking *asking = context;
    policy_auto policy = {0};
    struct plan plan;
    size_t index;
    json_t *entry;
    if (lock_policy(db, asking->asker->sandbox_id, &policy, err) < 0 ||
        team_lock(db, asking->asker->team_id, &plan, err) < 0)
        return -1;
    json_array_foreach ((json_t *)asking->entries, index, entry) {
        const char *target = json_string_value(entry);
        if (policy.asks && !is_decided(&policy, target) && ask_one(db, asking, target, err) < 0)
            return -1;
    }
    return 0;
}

static const struct approval *find(const struct approval *list, unsigned count, const char *target)
{
    for (unsigned i = 0; i < count; i++)
        if (!strcmp(list[i].target, target))
            return &list[i];
    return NULL;
}

/* Return the canonical form of a text, or NULL when it is no entry. The caller frees. */
static char *canonical(const char *text)
{
    error_auto ignored = NULL;
    struct policy_entry entry;
    if (!text || policy_entry_parse(text, &entry, &ignored) < 0)
        return NULL;
    char *target = policy_entry_text(&entry);
    policy_entry_deinit(&entry);
    return target;
}

int approvals_ask(struct db *db, const struct approval_asker *asker, const json_t *entries,
                  struct error **err)
{
    autofree struct approval *known = NULL;
    json_auto_t *fresh = json_array();
    struct asking asking = {asker, fresh, clock_now_ms()};
    unsigned count;
    size_t index;
    json_t *entry;
    if (approval_list(db, asker->sandbox_id, &known, &count, err) < 0)
        return -1;
    json_array_foreach ((json_t *)entries, index, entry) {
        autofree char *target = canonical(json_string_value(entry));
        const struct approval *one = target ? find(known, count, target) : NULL;
        if (target && (!one || is_due(one, asking.now_ms)) &&
            json_array_size(fresh) < APPROVALS_SANDBOX_RATE)
            json_array_append_new(fresh, json_string(target));
    }
    return json_array_size(fresh) ? db_transaction(db, ask_body, &asking, err) : 0;
}

/* --- answers --- */

int approval_lock(struct db *db, const char *sandbox_id, const char *id, struct approval *approval,
                  struct error **err)
{
    return DB_ROW(db, &lock_statement, DB_ARGS(db_text(sandbox_id), db_text(id)),
                  "There is no such approval.", read_approval, approval, err);
}

int approval_grant(struct db *db, const char *id, int64_t until_ms, struct error **err)
{
    return db_exec(db, &grant_statement, DB_ARGS(db_i64(until_ms), db_text(id)), NULL, err);
}

int approval_forget(struct db *db, const char *id, struct error **err)
{
    return db_exec(db, &forget_statement, DB_ARGS(db_text(id)), NULL, err);
}

int approvals_forget(struct db *db, const char *sandbox_id, struct error **err)
{
    return db_exec(db, &forget_all_statement, DB_ARGS(db_text(sandbox_id)), NULL, err);
}

/* --- the end of answers --- */

struct ending {
    const char *sandbox_id;
    int64_t now_ms;
};

/* The sandbox's row first, as an answer locks them. A new answer may be longer. A team may let many
 * answers end at once, so all of a sandbox end together. */
static int end_body(struct db *db, void *context, struct error **err)
{
    const struct ending *ending = context;
    if (db_exec(db, &touch_statement, DB_ARGS(db_i64(ending->now_ms), db_text(ending->sandbox_id)),
                NULL, err) < 0)
        return -1;
    return db_exec(db, &end_statement, DB_ARGS(db_text(ending->sandbox_id), db_i64(ending->now_ms)),
                   NULL, err);
}

int approvals_expire(struct db *db, struct error **err)
{
    db_rows_auto *rows = NULL;
    struct ending ending = {.now_ms = clock_now_ms()};
    unsigned failures = 0;
    if (db_query(db, &ended_statement, DB_ARGS(db_i64(ending.now_ms)), &rows, err) < 0)
        return -1;
    while (failures < SWEEP_FAILURES_MAX && db_rows_next(rows)) {
        ending.sandbox_id = db_get_text(rows, 0);
        if (sweep_rests(ending.sandbox_id) || db_transaction(db, end_body, &ending, err) == 0)
            continue;
        /* Another transaction may lock the row of this sandbox for long. */
        if (!sweep_passes_over(&failures, ending.sandbox_id, err))
            return -1;
        sweep_rest(ending.sandbox_id);
    }
    return db_exec(db, &old_statement, DB_ARGS(db_i64(ending.now_ms - APPROVAL_KEPT_H * MS_PER_H)),
                   NULL, err);
}
