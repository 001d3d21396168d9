/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "account/account.h"
#include "base/clock.h"
#include "host/host_answers.h"
#include "template/template_columns.h"
#include "template/warm_plan.h"

/* Creates within WAVE_MS are one wave; for KEEP_MS it is expected again. */
#define WAVE_MS 30000
#define KEEP_MS (15 * 60 * 1000)

#define MEANT   TEMPLATE_MEANT("v.template_id")
/* Only sizes with more than one create count, and only the version that each template means, and,
 * of a version that starts from memory, the size of this memory. Teams take turns in the order, so
 * a team with many sizes does not displace others. */
DB_STATEMENT(demand_statement) = {
    "warm_plan.demand",
    "SELECT r.team_id, r.template_version_id, r.virtual_machine, r.cpu, r.memory_mb, r.disk_gb,"
    " r.peak, r.net_admin, r.memory_id, (SELECT t.owner FROM template_versions o"
    "   JOIN templates t ON t.id = o.template_id WHERE o.id = r.template_version_id)"
    " FROM (SELECT d.team_id, d.template_version_id, "
    "v.virtual_machine, "
    "v.net_admin, COALESCE(v.memory_id, '') AS memory_id,"
    "   d.cpu, d.memory_mb, d.disk_gb, MAX(d.n) AS peak,"
    "   ROW_NUMBER() OVER (PARTITION BY d.team_id ORDER BY MAX(d.n) DESC) AS place"
    "   FROM (SELECT team_id, template_version_id, cpu, memory_mb, disk_gb, COUNT(*) AS n"
    "     FROM sandboxes WHERE id >= ? AND snapshot_id IS NULL"
    "     GROUP BY team_id, template_version_id, cpu, memory_mb, disk_gb,"
    "     FLOOR(created_at_ms / ?)) d"
    "   JOIN template_versions v ON v.id = d.template_version_id"
    "   WHERE v.state = 'ready' AND (v.memory_id IS NULL OR EXISTS (SELECT 1 FROM checkpoints c"
    "     WHERE c.id = v.memory_id AND c.state = 'kept' AND c.cpu = d.cpu"
    "     AND c.memory_mb = d.memory_mb)) AND v.id = " MEANT
    "   GROUP BY d.team_id, d.template_version_id, v.virtual_machine, v.net_admin, v.memory_id,"
    "   d.cpu, d.memory_mb, d.disk_gb HAVING SUM(d.n) > 1) r"
    " ORDER BY r.place, r.peak DESC, r.team_id, r.template_version_id, r.disk_gb, r.memory_mb,"
    " r.cpu LIMIT 64"};
DB_STATEMENT(state_statement) = {
    "warm_plan.state",
    "SELECT (SELECT CAST(COALESCE(SUM(memory_mb), 0) AS UNSIGNED) FROM hosts"
    "   WHERE state = 'active' AND " HOST_ANSWERS(
        "") "),"
            " EXISTS (SELECT 1 FROM operations WHERE state = 'running' AND kind IN ('create', "
            "'fork')) OR EXISTS (SELECT 1 FROM sandboxes WHERE id >= ?),"
            " EXISTS (SELECT 1 FROM sandbox_sizes WHERE attempts = 0),"
            " (SELECT COUNT(*) FROM warm_instances WHERE state <> 'leaving')"};

DB_STATEMENT(sizes_statement) = {
    "warm_plan.sizes",
    "SELECT p.disk_gb, COUNT(t.id) AS n FROM plans p LEFT JOIN teams t ON t.plan = p.name"
    "   AND t.id <> '" TEAM_DEPLOYMENT_ID "' AND t.removed_at_ms IS NULL"
    " GROUP BY p.disk_gb ORDER BY n DESC, p.disk_gb LIMIT 4"};
DB_STATEMENT(room_statement) = {
    "warm_plan.room",
    "SELECT CAST(COALESCE(SUM(LEAST(vcpus DIV ?, memory_mb * memory_overcommit DIV 100 DIV ?)), 0)"
    " AS UNSIGNED) FROM hosts WHERE state = 'active' AND " HOST_ANSWERS("")};

int warm_plan_begin(struct db *db, unsigned percent, struct warm_plan *plan, struct error **err)
{
    char since[ID_SIZE];
    db_rows_auto *rows = NULL;
    *plan = (struct warm_plan){0};
    id_floor("sbx_", clock_now_ms() - WARM_QUIET_MS, since);
    if (db_query(db, &state_statement, DB_ARGS(db_text(since)), &rows, err) < 0)
        return -1;
    db_rows_next(rows);
    plan->memory_mb = db_get_u64(rows, 0) * percent / 100;
    plan->busy = db_get_bool(rows, 1);
    plan->untold = db_get_bool(rows, 2);
    plan->there = db_get_u64(rows, 3);
    return 0;
}

int warm_plan_ask(struct db *db, struct warm_plan *plan, struct error **err)
{
    char since[ID_SIZE];
    db_rows_auto *rows = NULL;
    id_floor("sbx_", clock_now_ms() - KEEP_MS, since);
    if (db_query(db, &demand_statement, DB_ARGS(db_text(since), db_u64(WAVE_MS)), &rows, err) < 0)
        return -1;
    while (plan->demand_count < WARM_DEMANDS_MAX && db_rows_next(rows)) {
        struct warm_want want = {
            .virtual_machine = db_get_bool(rows, 2),
            .resources = {(unsigned)db_get_u64(rows, 3), (unsigned)db_get_u64(rows, 4),
                          (unsigned)db_get_u64(rows, 5)},
            .net_admin = db_get_bool(rows, 7),
        };
        db_copy_text(want.template_version_id, rows, 1);
        db_copy_text(want.memory_id, rows, 8);
        if (strcmp(db_get_text(rows, 9), TEAM_DEPLOYMENT_ID) != 0)
            db_copy_text(want.owner, rows, 9);
        warm_plan_add(plan, db_get_text(rows, 0), &want, (unsigned)db_get_u64(rows, 6));
    }
    return 0;
}

int warm_sizes_read(struct db *db, struct warm_sizes *sizes, struct error **err)
{
    db_rows_auto *rows = NULL;
    sizes->count = 0;
    if (db_query(db, &sizes_statement, DB_NO_ARGS, &rows, err) < 0)
        return -1;
    while (sizes->count < WARM_SIZES_MAX && db_rows_next(rows))
        sizes->sizes[sizes->count++] = (struct warm_size){
            .disk_gb = (unsigned)db_get_u64(rows, 0),
            .teams = db_get_u64(rows, 1),
        };
    return 0;
}

int warm_room_read(struct db *db, const struct runtime_resources *resources, uint64_t *room,
                   struct error **err)
{
    return DB_NUMBER(db, &room_statement,
                     DB_ARGS(db_u64(resources->cpu), db_u64(resources->memory_mb)), room, err);
}
