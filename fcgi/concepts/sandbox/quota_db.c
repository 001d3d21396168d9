/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/quota.h"

#include "base/mem.h"

static const struct db_statement usage_statement = {
    "quota.usage",
    "SELECT COUNT(*), CAST(COALESCE(SUM(cpu), 0) AS UNSIGNED),"
    " CAST(COALESCE(SUM(memory_mb), 0) AS UNSIGNED)"
    " FROM sandboxes WHERE team_id = ? AND reserved = 1",
    true};

static const struct db_statement stopped_statement = {
    "quota.stopped", "SELECT COUNT(*) FROM sandboxes WHERE state = 'stopped' AND team_id = ?",
    true};

static const struct db_statement *const statements[] = {&usage_statement, &stopped_statement};
const struct db_statement_list quota_statements = DB_STATEMENT_LIST(statements);

int quota_read(struct db *db, const char *team_id, const struct plan *plan,
               const struct runtime_shape *shape, struct quota *quota, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &usage_statement, DB_ARGS(db_text(team_id)), &rows, err) < 0)
        return -1;
    db_rows_next(rows);
    *quota = (struct quota){
        .limits = {plan->sandboxes, plan->vcpus, plan->memory_mb},
        .usage = {(uint32_t)db_get_u64(rows, 0), (uint32_t)db_get_u64(rows, 1),
                  (uint32_t)db_get_u64(rows, 2)},
        .reservation = {1, shape->cpu, shape->memory_mb},
    };
    return 0;
}

json_t *quota_to_json(const struct quota *quota)
{
    const struct quota_amount *amounts[] = {&quota->limits, &quota->usage, &quota->reservation};
    const char *const names[] = {"limits", "usage", "reservation"};
    json_t *json = json_object();
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        json_object_set_new(json, names[i],
                            json_pack("{s:I, s:I, s:I}", "sandboxes",
                                      (json_int_t)amounts[i]->sandboxes, "vcpus",
                                      (json_int_t)amounts[i]->vcpus, "memory_mb",
                                      (json_int_t)amounts[i]->memory_mb));
    return json;
}

static const char *what_exceeds(const struct quota *q)
{
    if (q->usage.sandboxes + q->reservation.sandboxes > q->limits.sandboxes)
        return "running sandboxes";
    if (q->usage.vcpus + q->reservation.vcpus > q->limits.vcpus)
        return "vCPUs";
    if (q->usage.memory_mb + q->reservation.memory_mb > q->limits.memory_mb)
        return "memory";
    return NULL;
}

/* Lock the team, read its plan and check the reservation. */
static int reserve(struct db *db, const char *team_id, const struct runtime_shape *shape,
                   struct plan *plan, struct quota *quota, struct error **err)
{
    if (team_lock(db, team_id, plan, err) < 0 ||
        quota_read(db, team_id, plan, shape, quota, err) < 0)
        return -1;
    const char *what = what_exceeds(quota);
    if (!what)
        return 0;
    error_set(err, ERR_SANDBOX_QUOTA_EXCEEDED,
              "The team's plan %s allows no more %s; stop or delete a sandbox first.", plan->name,
              what);
    return error_add_detail(err, "quota", quota_to_json(quota));
}

int quota_reserve(struct db *db, const char *team_id, const struct runtime_shape *shape,
                  struct error **err)
{
    struct plan plan;
    struct quota quota;
    return reserve(db, team_id, shape, &plan, &quota, err);
}

int quota_reserve_new(struct db *db, const char *team_id, const struct runtime_shape *shape,
                      struct error **err)
{
    struct plan plan;
    struct quota quota;
    db_rows_auto *rows = NULL;
    if (reserve(db, team_id, shape, &plan, &quota, err) < 0 ||
        db_query(db, &stopped_statement, DB_ARGS(db_text(team_id)), &rows, err) < 0)
        return -1;
    db_rows_next(rows);
    if (db_get_u64(rows, 0) <= plan.stopped_sandboxes)
        return 0;
    error_set(err, ERR_SANDBOX_QUOTA_EXCEEDED,
              "The team's plan %s keeps %u stopped sandboxes, and %llu are stopped; delete or "
              "resume one first.",
              plan.name, plan.stopped_sandboxes, (unsigned long long)db_get_u64(rows, 0));
    return error_add_detail(err, "quota", quota_to_json(&quota));
}
