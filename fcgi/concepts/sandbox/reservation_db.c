/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/reservation.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "host/host.h"
#include "host/host_room.h"

DB_STATEMENT(move_team_statement) = {
    "reservation.move_team",
    "UPDATE teams SET used_sandboxes = used_sandboxes - CAST(? AS SIGNED),"
    " used_vcpus = used_vcpus - CAST(? AS SIGNED),"
    " used_memory_mb = used_memory_mb - CAST(? AS SIGNED),"
    " stopped_sandboxes = stopped_sandboxes + CAST(? AS SIGNED) WHERE id = ?"};

/* The server finds, and locks, the tables in this order. */
DB_STATEMENT(take_all_statement) = {
    "reservation.take_all",
    "UPDATE teams t JOIN plans p ON p.name = t.plan JOIN hosts h ON h.id = ?"
    " JOIN host_pools o ON o.host_id = h.id JOIN template_versions v ON v.id = ?"
    " SET t.used_sandboxes = t.used_sandboxes + 1,"
    " t.used_vcpus = t.used_vcpus + CAST(? AS SIGNED),"
    " t.used_memory_mb = t.used_memory_mb + CAST(? AS SIGNED),"
    " h.sandboxes = h.sandboxes + 1,"
    " h.used_vcpus = h.used_vcpus + CAST(? AS SIGNED),"
    " h.used_memory_mb = h.used_memory_mb + CAST(? AS SIGNED),"
    " o.promised_gb = o.promised_gb + CAST(? AS SIGNED)"
    " WHERE t.id = ? AND " QUOTA_HAS_ROOM " AND t.stopped_sandboxes <= p.stopped_sandboxes"
    " AND " HOST_HAS_ROOM " AND " HOST_POOL_HAS_ROOM " AND v.state = 'ready'"};

/* One statement sees rows and sums of the same moment, and one transaction changes both. */
#define OF_HOST " (SELECT COUNT(*) FROM sandboxes s WHERE s.host_id = h.id AND s.reserved > 0)"
#define HOST_SUM(column)                                                       \
    " (SELECT CAST(COALESCE(SUM(s." column "), 0) AS SIGNED) FROM sandboxes s" \
    "   WHERE s.host_id = h.id AND s.reserved > 0)"
#define OF_TEAM " (SELECT COUNT(*) FROM sandboxes s WHERE s.team_id = t.id AND s.reserved = 1)"
#define TEAM_SUM(column)                                                       \
    " (SELECT CAST(COALESCE(SUM(s." column "), 0) AS SIGNED) FROM sandboxes s" \
    "   WHERE s.team_id = t.id AND s.reserved = 1)"
#define STOPPED                                                    \
    " (SELECT COUNT(*) FROM sandboxes s WHERE s.state = 'stopped'" \
    "   AND s.reserved = 0 AND s.team_id = t.id)"

DB_STATEMENT(hosts_statement) = {
    "reservation.hosts",
    "SELECT h.name, CAST(h.id AS CHAR) FROM hosts h WHERE h.sandboxes <>" OF_HOST
    " OR h.used_vcpus <>" HOST_SUM("cpu") " OR h.used_memory_mb <>" HOST_SUM(
        "memory_mb") " LIMIT 1000"};
DB_STATEMENT(teams_statement) = {
    "reservation.teams", "SELECT t.slug, t.id FROM teams t WHERE t.used_sandboxes <>" OF_TEAM
                         " OR t.used_vcpus <>" TEAM_SUM("cpu") " OR t.used_memory_mb <>" TEAM_SUM(
                             "memory_mb") " OR t.stopped_sandboxes <>" STOPPED " LIMIT 1000"};
DB_STATEMENT(lock_host_statement) = {"reservation.lock_host",
                                     "SELECT 1 FROM hosts WHERE id = ? FOR UPDATE"};
DB_STATEMENT(lock_team_statement) = {"reservation.lock_team",
                                     "SELECT 1 FROM teams WHERE id = ? FOR UPDATE"};
DB_STATEMENT(repair_host_statement) = {
    "reservation.repair_host",
    "UPDATE hosts h SET h.sandboxes =" OF_HOST ", h.used_vcpus =" HOST_SUM(
        "cpu") ", h.used_memory_mb =" HOST_SUM("memory_mb") " WHERE h.id = ?"};
DB_STATEMENT(repair_team_statement) = {
    "reservation.repair_team",
    "UPDATE teams t SET t.used_sandboxes =" OF_TEAM ", t.used_vcpus =" TEAM_SUM(
        "cpu") ", t.used_memory_mb =" TEAM_SUM("memory_mb") ", t.stopped_sandboxes =" STOPPED
                                                            " WHERE t.id = ?"};

/* --- taking --- */

int reservation_take_quota(struct db *db, struct sandbox *sandbox, struct error **err)
{
    if (quota_reserve_new(db, sandbox->team_id, &sandbox->resources, err) < 0)
        return -1;
    sandbox->counted.by_team = true;
    return 0;
}

int reservation_take_all(struct db *db, struct sandbox *sandbox, bool *taken, struct error **err)
{
    uint64_t matched;
    const struct runtime_resources *resources = &sandbox->resources;
    struct db_value cpu = db_u64(resources->cpu), memory_mb = db_u64(resources->memory_mb),
                    disk_gb = db_u64(resources->disk_gb);
    if (db_exec(db, &take_all_statement,
                DB_ARGS(db_u64(sandbox->host_id), db_text(sandbox->template_version_id), cpu,
                        memory_mb, cpu, memory_mb, disk_gb, db_text(sandbox->team_id), cpu,
                        memory_mb, cpu, memory_mb, disk_gb),
                &matched, err) < 0)
        return -1;
    *taken = matched > 0;
    if (*taken)
        sandbox->counted.by_team = sandbox->counted.by_host = true;
    return 0;
}

int reservation_renew(struct db *db, struct sandbox *sandbox, struct error **err)
{
    if (sandbox->reserved == RESERVES_ALL) /* it kept its reservation */
        return 0;
    if (quota_reserve(db, sandbox->team_id, &sandbox->resources, err) < 0 ||
        host_reserve(db, sandbox->host_id, &sandbox->resources, err) < 0)
        return -1;
    sandbox->counted.by_team = sandbox->counted.by_host = true;
    return 0;
}

int reservation_rehost(struct db *db, const struct sandbox *sandbox, uint32_t to_host,
                       struct error **err)
{
    if (!sandbox->counted.by_host)
        return 0;
    return host_reserve(db, to_host, &sandbox->resources, err) < 0
               ? -1
               : host_room_give(db, sandbox->host_id, &sandbox->resources, err);
}

/* --- returning --- */

static int follow_team(struct db *db, struct sandbox *sandbox, bool counts, bool stopped,
                       struct error **err)
{
    const struct runtime_resources *resources = &sandbox->resources;
    unsigned gives = sandbox->counted.by_team && !counts;
    int stops = (int)stopped - (int)sandbox->counted.as_stopped;
    if (!gives && !stops)
        return 0;
    if (db_exec(db, &move_team_statement,
                DB_ARGS(db_u64(gives), db_u64(gives * resources->cpu),
                        db_u64(gives * resources->memory_mb), db_i64(stops),
                        db_text(sandbox->team_id)),
                NULL, err) < 0)
        return -1;
    sandbox->counted.by_team = counts;
    sandbox->counted.as_stopped = stopped;
    return 0;
}

int reservation_follow(struct db *db, struct sandbox *sandbox, struct error **err)
{
    bool team = sandbox->reserved == RESERVES_ALL, host = sandbox->reserved != RESERVES_NOTHING;
    assert((!team || sandbox->counted.by_team) && (!host || sandbox->counted.by_host));
    if (follow_team(db, sandbox, team, sandbox_stays_paused(sandbox), err) < 0)
        return -1;
    if (host || !sandbox->counted.by_host)
        return 0;
    sandbox->counted.by_host = false;
    return host_room_give(db, sandbox->host_id, &sandbox->resources, err);
}

/* --- comparing --- */

static int add_drifts(struct db *db, const struct db_statement *statement, const char *kind,
                      struct reservation_drift **list, size_t *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, statement, DB_NO_ARGS, &rows, err) < 0)
        return -1;
    while (db_rows_next(rows)) {
        *list = xreallocarray(*list, *count + 1, sizeof **list);
        struct reservation_drift *drift = &(*list)[(*count)++];
        snprintf(drift->owner, sizeof drift->owner, "%s %s", kind, db_get_text(rows, 0));
        db_copy_text(drift->id, rows, 1);
    }
    return 0;
}

int reservation_drifts(struct db *db, struct reservation_drift **list, size_t *count,
                       struct error **err)
{
    *list = NULL;
    *count = 0;
    if (add_drifts(db, &hosts_statement, "host", list, count, err) == 0 &&
        add_drifts(db, &teams_statement, "team", list, count, err) == 0)
        return 0;
    free(steal_pointer(list));
    return -1;
}

/* The lock orders this repair before transactions that have changed a sandbox and not yet ended.
 * Their changes are not in these sums; they are added to the repaired counters afterwards. */
static int repair_body(struct db *db, void *context, struct error **err)
{
    const struct reservation_drift *drift = context;
    bool is_host = str_starts_with(drift->owner, "host "), found;
    struct db_value id = db_text(drift->id);
    if (db_query_finds(db, is_host ? &lock_host_statement : &lock_team_statement, DB_ARGS(id),
                       &found, err) < 0)
        return -1;
    return db_exec(db, is_host ? &repair_host_statement : &repair_team_statement, DB_ARGS(id), NULL,
                   err);
}

int reservation_reconcile(struct db *db, struct error **err)
{
    autofree struct reservation_drift *drifts = NULL;
    size_t count;
    if (reservation_drifts(db, &drifts, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        log_warning(
            "corrected the reserved totals of a team or host, which differed from its sandboxes",
            LOG_STR("owner", drifts[i].owner));
        if (db_transaction(db, repair_body, &drifts[i], err) < 0)
            return -1;
    }
    return 0;
}
