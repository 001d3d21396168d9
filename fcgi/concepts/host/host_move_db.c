/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sandboxes that move to another host, and hosts that are emptied and removed. */
#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"
#include "host/host.h"
#include "host/host_answers.h"

DB_STATEMENT(move_address_statement) = {
    "host.move_address", "UPDATE host_addresses SET host_id = ? WHERE host_id = ? AND holder = ?"};
/* A host whose disk is nearly full or fully promised is no target, however much memory it has. */
DB_STATEMENT(targets_statement) = {
    "host.move_targets",
    "SELECT h.id, h.address_range, COALESCE(h.network, '') FROM hosts h"
    " LEFT JOIN host_pools p ON p.host_id = h.id WHERE h.id <> ? AND (? = 0 OR h.id = ?)"
    " AND h.state = 'active' AND h.memory_low = 0 AND " HOST_ANSWERS(
        "h.") " AND h.used_vcpus + CAST(? AS SIGNED) <= h.vcpus"
              " AND h.used_memory_mb + CAST(? AS SIGNED)"
              " <= CAST(h.memory_mb AS SIGNED) * h.memory_overcommit DIV 100"
              " AND (p.host_id IS NULL OR (p.used_mb + p.total_mb * 0.06 <= p.total_mb"
              "   AND (h.disk_overcommit = 0 OR ? = 0 OR"
              "   (p.promised_gb + ?) * 1024 <= p.total_mb * h.disk_overcommit)))"
              " ORDER BY " HOST_BEST_FIRST ", h.id LIMIT 10000"};

DB_STATEMENT(leave_statement) = {
    "host.leave", "UPDATE hosts SET leaving = ? WHERE name = ? AND state = 'draining'"};

DB_STATEMENT(lock_leaving_statement) = {"host.lock_leaving",
                                        "SELECT id, state FROM hosts WHERE name = ? FOR UPDATE"};
/* The lock on the host's row keeps new objects away while this counts. */
DB_STATEMENT(left_statement) = {
    "host.left",
    "SELECT (SELECT COUNT(*) FROM sandboxes WHERE host_id = ? AND state <> 'destroyed'),"
    " (SELECT COUNT(*) FROM checkpoints WHERE host_id = ? AND state <> 'deleted'),"
    " (SELECT COUNT(*) FROM volumes WHERE host_id = ? AND state <> 'deleted'),"
    " (SELECT COUNT(*) FROM template_sources t JOIN template_versions v"
    "   ON v.id = t.template_version_id WHERE t.host_id = ? AND v.state = 'ready'"
    "   AND NOT EXISTS (SELECT 1 FROM template_sources o JOIN hosts h ON h.id = o.host_id"
    "     WHERE o.template_version_id = v.id AND o.host_id <> t.host_id"
    "     AND h.lost_at_ms IS NULL)),"
    " (SELECT COUNT(*) FROM moves WHERE (from_host_id = ? OR to_host_id = ?)"
    "   AND state <> 'failed'),"
    " (SELECT lost_at_ms IS NOT NULL FROM hosts WHERE id = ?)"};
static const struct db_statement forget_statements[] = {
    {"host.forget_moves", "DELETE FROM moves WHERE from_host_id = ?"},
    {"host.forget_moves_to", "DELETE FROM moves WHERE to_host_id = ?"},
    {"host.forget_sources", "DELETE FROM template_sources WHERE host_id = ?"},
    {"host.forget_warm", "DELETE FROM warm_instances WHERE host_id = ?"},
    {"host.forget_keeper", "DELETE FROM keepers WHERE host_id = ?"},
    {"host.forget_join",
     "DELETE FROM host_joins WHERE name = (SELECT name FROM hosts WHERE id = ?)"},
    {"host.forget", "DELETE FROM hosts WHERE id = ?"},
};

DB_STATEMENTS(statements) = {&forget_statements[0], &forget_statements[1], &forget_statements[2],
                             &forget_statements[3], &forget_statements[4], &forget_statements[5],
                             &forget_statements[6]};

int host_address_move(struct db *db, uint32_t from_host, uint32_t to_host,
                      const char *instance_name, struct error **err)
{
    return db_exec(db, &move_address_statement,
                   DB_ARGS(db_u64(to_host), db_u64(from_host), db_text(instance_name)), NULL, err);
}

static bool has_addresses(const struct host *host, const struct host_wanted *wanted)
{
    for (unsigned i = 0; i < wanted->address_count; i++)
        if (!host_has_address(host, wanted->addresses[i]))
            return false;
    return true;
}

int host_target(struct db *db, const struct host_wanted *wanted, uint32_t *host_id,
                struct error **err)
{
    db_rows_auto *rows = NULL;
    struct db_value only = db_u64(wanted->only_host), disk_gb = db_u64(wanted->resources.disk_gb);
    *host_id = 0;
    if (db_query(db, &targets_statement,
                 DB_ARGS(db_u64(wanted->from_host), only, only, db_u64(wanted->resources.cpu),
                         db_u64(wanted->resources.memory_mb), disk_gb, disk_gb),
                 &rows, err) < 0)
        return -1;
    while (!*host_id && db_rows_next(rows)) {
        struct host host = {0};
        db_copy_text(host.address_range, rows, 1);
        db_copy_text(host.network, rows, 2);
        if (has_addresses(&host, wanted))
            *host_id = (uint32_t)db_get_u64(rows, 0);
    }
    return 0;
}

int host_move_target(struct db *db, uint32_t from_host, uint32_t address,
                     const struct runtime_resources *resources, uint32_t *host_id,
                     struct error **err)
{
    const struct host_wanted wanted = {
        .from_host = from_host,
        .addresses = &address,
        .address_count = 1,
        .resources = *resources,
    };
    return host_target(db, &wanted, host_id, err);
}

struct leaving {
    const char *name;
    bool with_running;
};

static int leave_body(struct db *db, void *context, struct error **err)
{
    const struct leaving *leaving = context;
    if (host_set_state(db, leaving->name, HOST_DRAINING, err) < 0)
        return -1;
    return db_exec(db, &leave_statement,
                   DB_ARGS(db_u64(leaving->with_running ? 2 : 1), db_text(leaving->name)), NULL,
                   err);
}

int host_leave(struct db *db, const char *name, bool with_running, struct error **err)
{
    struct leaving leaving = {name, with_running};
    return db_transaction(db, leave_body, &leaving, err);
}

/* --- the rest on a host --- */

static int check_empty(struct db *db, const char *name, uint32_t host_id, struct error **err)
{
    db_rows_auto *rows = NULL;
    struct db_value host = db_u64(host_id);
    if (db_query(db, &left_statement, DB_ARGS(host, host, host, host, host, host, host), &rows,
                 err) < 0)
        return -1;
    db_rows_next(rows);
    unsigned sandboxes = (unsigned)db_get_u64(rows, 0), checkpoints = (unsigned)db_get_u64(rows, 1),
             volumes = (unsigned)db_get_u64(rows, 2), templates = (unsigned)db_get_u64(rows, 3),
             moves = (unsigned)db_get_u64(rows, 4);
    bool lost = db_get_bool(rows, 5);
    if (!sandboxes && !checkpoints && !volumes && (lost || (!templates && !moves)))
        return 0;
    if (!sandboxes && !checkpoints && !volumes)
        return error_set_field(err, ERR_INVALID_REQUEST, "name",
                               "The host %s has the only copy of %u template versions, and %u "
                               "moves from or to it have not ended. Run `sandlotctl host drain %s "
                               "--wait`, which copies the versions and waits for the moves.",
                               name, templates, moves, name);
    return error_set_field(err, ERR_INVALID_REQUEST, "name",
                           "The host %s still has %u sandboxes, %u checkpoints and %u volumes "
                           "(`sandlotctl host drain %s` lists them).",
                           name, sandboxes, checkpoints, volumes, name);
}

static int lock_leaving(struct db *db, const char *name, uint32_t *host_id, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query_row(db, &lock_leaving_statement, DB_ARGS(db_text(name)), "There is no such host.",
                     &rows, err) < 0)
        return -1;
    *host_id = (uint32_t)db_get_u64(rows, 0);
    if (!str_equal(db_get_text(rows, 1), host_state_names[HOST_ACTIVE]))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "name",
                           "The host %s still gets new sandboxes; drain it first.", name);
}

static int remove_body(struct db *db, void *context, struct error **err)
{
    const char *name = context;
    uint32_t host_id = 0;
    if (lock_leaving(db, name, &host_id, err) < 0 || check_empty(db, name, host_id, err) < 0 ||
        host_addresses_delete(db, host_id, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(forget_statements); i++)
        if (db_exec(db, &forget_statements[i], DB_ARGS(db_u64(host_id)), NULL, err) < 0)
            return -1;
    return 0;
}

int host_remove(struct db *db, const char *name, struct error **err)
{
    char copy[64];
    snprintf(copy, sizeof copy, "%s", name);
    return db_transaction(db, remove_body, copy, err);
}
