/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/mem.h"
#include "db/lease.h"
#include "event/event.h"
#include "sandbox/sandbox_network_row.h"

DB_STATEMENT(update_statement) = {
    "network.update",
    "UPDATE sandboxes SET version = UUID_SHORT(), network = ?, network_revision = ?, "
    "network_applied = ?,"
    " network_due_at_ms = ?, network_failure = '', allow_public_traffic = ?, updated_at_ms = ? "
    "WHERE id = ?"};
DB_STATEMENT(applied_statement) = {
    "network.applied",
    "UPDATE sandboxes SET version = UUID_SHORT(), network_applied = network_revision,"
    " network_due_at_ms = NULL,"
    " network_failure = ''"
    " WHERE id = ? AND network_revision = ?"};
DB_STATEMENT(failed_statement) = {"network.failed",
                                  "UPDATE sandboxes SET version = UUID_SHORT(), network_failure = ?"
                                  " WHERE id = ? AND network_revision = ?"};
DB_STATEMENT(any_due_statement) = {
    "network.any_due", "SELECT EXISTS(SELECT 1 FROM sandboxes WHERE network_due_at_ms <= ?)"
                       " OR EXISTS(SELECT 1 FROM host_addresses WHERE policy_due_at_ms <= ?)"};
static const struct lease_table policies = LEASE_TEAMS(
    "policies", "sandboxes", "id", "network_due_at_ms", "network_due_at_ms IS NOT NULL", "team_id");
DB_STATEMENT(forget_statement) = {
    "network.forget", "UPDATE sandboxes SET network_due_at_ms = NULL WHERE id = ? AND visible = 0"};
DB_STATEMENT(defer_host_statement) = {
    "network.defer_host",
    "UPDATE sandboxes SET network_due_at_ms = ? WHERE host_id = ? AND network_due_at_ms < ?"};

DB_STATEMENT(quarantine_statement) = {
    "network.quarantine", "UPDATE host_addresses SET policy_of = ?, policy_due_at_ms = ?"
                          " WHERE host_id = ? AND address = ?"};
DB_STATEMENT(orphan_statement) = {
    "network.orphan",
    "SELECT host_id, address, policy_of FROM host_addresses WHERE address = ? AND policy_of IS NOT"
    " NULL"};
/* The row of an ended sandbox stays for longer than its policy. */
static const struct lease_table orphans =
    LEASE_TEAMS("orphans", "host_addresses", "address", "policy_due_at_ms", "policy_of IS NOT NULL",
                "(SELECT s.team_id FROM sandboxes s WHERE s.id = policy_of)");
DB_STATEMENT(orphan_again_statement) = {
    "network.orphan_again",
    "UPDATE host_addresses SET policy_due_at_ms = ? WHERE host_id = ? AND address = ?"};
DB_STATEMENT(orphan_gone_statement) = {
    "network.orphan_gone", "UPDATE host_addresses SET policy_of = NULL, policy_due_at_ms = NULL"
                           " WHERE host_id = ? AND address = ? AND policy_of = ?"};

DB_STATEMENT(desired_statement) = {
    "network.desired",
    "SELECT id, address, network_revision, network_applied, team_id, denials_told,"
    " created_by FROM sandboxes"
    " WHERE host_id = ? AND reserved = 1 ORDER BY address"};
DB_STATEMENT(lost_statement) = {
    "network.lost",
    "UPDATE sandboxes SET version = UUID_SHORT(), network_applied = 0, network_due_at_ms = ?,"
    " network_revision = GREATEST(network_revision, ?)"
    " WHERE id = ? AND reserved = 1 AND network_revision = ? AND network_applied = ?"};
DB_STATEMENT(holds_statement) = {
    "network.holds", "SELECT 1 FROM sandboxes"
                     " WHERE id = ? AND host_id = ? AND address = ? AND state <> 'destroyed'"};
DB_STATEMENT(ranges_statement) = {
    "network.ranges", "SELECT COALESCE(network, address_range) FROM hosts ORDER BY id LIMIT 250"};

DB_STATEMENTS(statements) = {&policies.due, &policies.line, &orphans.line,
                             &orphans.due,  &policies.take, &policies.renew};

int network_row_update(struct db *db, const struct sandbox *s, struct error **err)
{
    return db_exec(
        db, &update_statement,
        DB_ARGS(db_text(s->network), db_u64(s->network_revision), db_u64(s->network_applied),
                s->network_due_at_ms ? db_i64(s->network_due_at_ms) : db_null(),
                db_bool(s->allow_public_traffic), db_i64(clock_now_ms()), db_text(s->id)),
        NULL, err);
}

static int applied_body(struct db *db, void *context, struct error **err)
{
    const struct sandbox *sandbox = context;
    uint64_t matched;
    if (db_exec(db, &applied_statement,
                DB_ARGS(db_text(sandbox->id), db_u64(sandbox->network_revision)), &matched,
                err) < 0)
        return -1;
    const struct event_note note = {
        EVENT_NETWORK_APPLIED, sandbox->team_id, sandbox->id,
        matched ? json_pack("{s:I}", "revision", (json_int_t)sandbox->network_revision) : NULL};
    return matched ? event_add(db, &note, err) : 0;
}

int network_row_applied(struct db *db, const struct sandbox *sandbox, struct error **err)
{
    return db_transaction(db, applied_body, (void *)sandbox, err);
}

int network_row_failed(struct db *db, const char *sandbox_id, uint64_t revision, const char *reason,
                       struct error **err)
{
    return db_exec(db, &failed_statement,
                   DB_ARGS(db_text(reason), db_text(sandbox_id), db_u64(revision)), NULL, err);
}

int network_row_any_due(struct db *db, bool *any, struct error **err)
{
    struct db_value now = db_i64(clock_now_ms());
    return DB_NUMBER(db, &any_due_statement, DB_ARGS(now, now), any, err);
}

int network_row_take_due(struct db *db, uint64_t lease_ms, char id[LEASE_KEY_SIZE],
                         struct error **err)
{
    if (lease_take(db, &policies, NULL, lease_ms, id, NULL, err) < 0)
        return -1;
    return *id ? db_exec(db, &forget_statement, DB_ARGS(db_text(id)), NULL, err) : 0;
}

int network_row_defer(struct db *db, const char *sandbox_id, uint64_t delay_ms, struct error **err)
{
    return lease_defer(db, &policies, sandbox_id, NULL, delay_ms, err);
}

int network_row_defer_host(struct db *db, uint32_t host_id, int64_t due_at_ms, struct error **err)
{
    return db_exec(db, &defer_host_statement,
                   DB_ARGS(db_i64(due_at_ms), db_u64(host_id), db_i64(due_at_ms)), NULL, err);
}

/* --- addresses of sandboxes that are gone --- */

int network_row_quarantine(struct db *db, const struct sandbox *s, struct error **err)
{
    return db_exec(
        db, &quarantine_statement,
        DB_ARGS(db_text(s->id), db_i64(clock_now_ms()), db_u64(s->host_id), db_u64(s->address)),
        NULL, err);
}

int network_row_take_orphan(struct db *db, int64_t again_at_ms, struct orphan *orphan,
                            struct error **err)
{
    db_rows_auto *rows = NULL;
    char address[LEASE_KEY_SIZE];
    *orphan = (struct orphan){0};
    if (lease_lock(db, &orphans, address, err) < 0)
        return -1;
    if (!*address)
        return 0;
    if (db_query(db, &orphan_statement, DB_ARGS(db_text(address)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    orphan->host_id = (uint32_t)db_get_u64(rows, 0);
    orphan->address = (uint32_t)db_get_u64(rows, 1);
    db_copy_text(orphan->sandbox_id, rows, 2);
    return db_exec(db, &orphan_again_statement,
                   DB_ARGS(db_i64(again_at_ms), db_u64(orphan->host_id), db_u64(orphan->address)),
                   NULL, err);
}

int network_row_orphan_gone(struct db *db, const struct orphan *orphan, struct error **err)
{
    return db_exec(
        db, &orphan_gone_statement,
        DB_ARGS(db_u64(orphan->host_id), db_u64(orphan->address), db_text(orphan->sandbox_id)),
        NULL, err);
}

/* --- comparing --- */

int network_row_desired(struct db *db, uint32_t host_id, struct network_desired **desired,
                        size_t *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    size_t capacity = 0;
    *desired = NULL;
    *count = 0;
    if (db_query(db, &desired_statement, DB_ARGS(db_u64(host_id)), &rows, err) < 0)
        return -1;
    while (db_rows_next(rows)) {
        if (*count == capacity) {
            capacity = capacity ? capacity * 2 : 64;
            *desired = xreallocarray(*desired, capacity, sizeof **desired);
        }
        struct network_desired *one = &(*desired)[(*count)++];
        db_copy_text(one->id, rows, 0);
        one->address = (uint32_t)db_get_u64(rows, 1);
        one->revision = db_get_u64(rows, 2);
        one->applied = db_get_u64(rows, 3);
        db_copy_text(one->team_id, rows, 4);
        one->denials_told = db_get_u64(rows, 5);
        db_copy_text(one->user_id, rows, 6);
    }
    return 0;
}

int network_row_lost(struct db *db, const struct network_desired *desired, uint64_t above,
                     struct error **err)
{
    return db_exec(db, &lost_statement,
                   DB_ARGS(db_i64(clock_now_ms()), db_u64(above + 1), db_text(desired->id),
                           db_u64(desired->revision), db_u64(desired->applied)),
                   NULL, err);
}

int network_row_holds(struct db *db, uint32_t host_id, uint32_t address, const char *sandbox_id,
                      bool *holds, struct error **err)
{
    return db_query_finds(db, &holds_statement,
                          DB_ARGS(db_text(sandbox_id), db_u64(host_id), db_u64(address)), holds,
                          err);
}

int network_row_ranges(struct db *db,
                       int (*add)(void *context, const char *range, struct error **err),
                       void *context, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &ranges_statement, DB_NO_ARGS, &rows, err) < 0)
        return -1;
    while (db_rows_next(rows))
        if (add(context, db_get_text(rows, 0), err) < 0)
            return -1;
    return 0;
}
