/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/quota.h"

#include "base/mem.h"
#include "template/template_columns.h"

DB_STATEMENT(usage_statement) = {
    "quota.usage",
    "SELECT used_sandboxes, used_vcpus, used_memory_mb, stopped_sandboxes FROM teams WHERE id = ?"};
#define MEANT TEMPLATE_MEANT("x.id")
/* Reads also the size of the version that the slug alone means. The team's own template comes
 * before that of the deployment, as in template/. */
DB_STATEMENT(look_statement) = {
    "quota.look",
    "SELECT t.used_sandboxes, t.used_vcpus, t.used_memory_mb, v.cpu, v.memory_mb,"
    " (SELECT a.revision FROM access_revision a WHERE a.id = 1),"
    " (SELECT CAST(COALESCE(SUM(i.size_mb), 0) AS UNSIGNED) FROM memory_images i"
    "   WHERE i.team_id = t.id)"
    " FROM teams t LEFT JOIN template_versions v ON v.id ="
    " (SELECT " MEANT " FROM templates x WHERE x.slug = ?"
    "   AND x.owner IN ('" TEAM_DEPLOYMENT_ID "', t.id) ORDER BY x.owner DESC LIMIT 1)"
    " WHERE t.id = ?"};
/* Checks and reserves in one statement, against the present plan. */
DB_STATEMENT(take_statement) = {
    "quota.take",
    "UPDATE teams t JOIN plans p ON p.name = t.plan SET t.used_sandboxes = t.used_sandboxes + 1,"
    " t.used_vcpus = t.used_vcpus + CAST(? AS SIGNED),"
    " t.used_memory_mb = t.used_memory_mb + CAST(? AS SIGNED)"
    " WHERE t.id = ? AND " QUOTA_HAS_ROOM
    " AND (? = 0 OR t.stopped_sandboxes <= p.stopped_sandboxes)"};
/* Compares the number of deleted sandboxes whose instances still exist with the plan. */
DB_STATEMENT(may_leave_statement) = {
    "quota.may_leave",
    "SELECT 1 FROM teams t JOIN plans p ON p.name = t.plan WHERE t.id = ? AND p.sandboxes >"
    " (SELECT COUNT(*) FROM sandboxes s WHERE s.team_id = t.id AND s.reserved = 2)"};

/* A wrong counter is corrected soon; until then a negative value counts as 0. */
static uint32_t amount(const struct db_rows *rows, unsigned column)
{
    int64_t value = db_get_i64(rows, column);
    return value < 0 ? 0 : (uint32_t)value;
}

static int read_usage(struct db *db, const char *team_id, const struct plan *plan,
                      const struct runtime_resources *resources, struct quota *quota,
                      uint32_t *stopped, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query_row(db, &usage_statement, DB_ARGS(db_text(team_id)), "There is no such team.",
                     &rows, err) < 0)
        return -1;
    *quota = (struct quota){
        .limits = {plan->sandboxes, plan->vcpus, plan->memory_mb},
        .usage = {amount(rows, 0), amount(rows, 1), amount(rows, 2)},
        .reservation = {1, resources->cpu, resources->memory_mb},
    };
    *stopped = amount(rows, 3);
    return 0;
}

int quota_look(struct db *db, const char *team_id, const char *template_slug,
               struct quota_seen *seen, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query_row(db, &look_statement, DB_ARGS(db_text(template_slug), db_text(team_id)),
                     "There is no such team.", &rows, err) < 0)
        return -1;
    *seen = (struct quota_seen){
        .usage = {amount(rows, 0), amount(rows, 1), amount(rows, 2)},
        .cpu = (uint32_t)db_get_u64(rows, 3),
        .memory_mb = (uint32_t)db_get_u64(rows, 4),
        .revision = db_get_u64(rows, 5),
        .paused_mb = db_get_u64(rows, 6),
    };
    return 0;
}

int quota_read(struct db *db, const char *team_id, const struct plan *plan,
               const struct runtime_resources *resources, struct quota *quota, struct error **err)
{
    uint32_t stopped;
    return read_usage(db, team_id, plan, resources, quota, &stopped, err);
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

/* Refuse with a message that names the exceeded quota. */
static int refuse(struct db *db, const char *team_id, const struct runtime_resources *resources,
                  struct error **err)
{
    struct plan plan;
    struct quota quota;
    uint32_t stopped;
    if (team_lock(db, team_id, &plan, err) < 0 ||
        read_usage(db, team_id, &plan, resources, &quota, &stopped, err) < 0)
        return -1;
    const char *what = what_exceeds(&quota);
    if (what) {
        error_set(err, ERR_SANDBOX_QUOTA_EXCEEDED,
                  "The team's plan %s allows no more %s; pause or delete a sandbox first.",
                  plan.name, what);
        return error_add_detail(err, "quota", quota_to_json(&quota));
    }
    if (stopped > plan.stopped_sandboxes) {
        error_set(err, ERR_STOPPED_QUOTA_EXCEEDED,
                  "The team's plan %s allows %u paused sandboxes, and %u are paused; delete or "
                  "resume one first.",
                  plan.name, plan.stopped_sandboxes, stopped);
        return error_add_limit(err, plan.stopped_sandboxes, stopped);
    }
    /* Another sandbox returned its quota between the two statements. */
    return error_set(err, ERR_DB_DEADLOCK, "the quota of team %s changed meanwhile", team_id);
}

static int take(struct db *db, const char *team_id, const struct runtime_resources *resources,
                bool new_sandbox, struct error **err)
{
    uint64_t matched;
    struct db_value cpu = db_u64(resources->cpu), memory_mb = db_u64(resources->memory_mb);
    if (db_exec(db, &take_statement,
                DB_ARGS(cpu, memory_mb, db_text(team_id), cpu, memory_mb, db_bool(new_sandbox)),
                &matched, err) < 0)
        return -1;
    return matched ? 0 : refuse(db, team_id, resources, err);
}

int quota_reserve(struct db *db, const char *team_id, const struct runtime_resources *resources,
                  struct error **err)
{
    return take(db, team_id, resources, false, err);
}

int quota_reserve_new(struct db *db, const char *team_id, const struct runtime_resources *resources,
                      struct error **err)
{
    return take(db, team_id, resources, true, err);
}

int quota_may_leave(struct db *db, const char *team_id, bool *may, struct error **err)
{
    return db_query_finds(db, &may_leave_statement, DB_ARGS(db_text(team_id)), may, err);
}
