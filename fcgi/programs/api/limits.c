/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/api.h"
#include "template/template.h"

static json_t *prices_to_json(const struct plan *plan)
{
    return json_pack("{s:s, s:s, s:s, s:s}", "currency", plan->currency, "vcpu_hour",
                     plan->vcpu_hour, "memory_gb_hour", plan->memory_gb_hour, "storage_gb_month",
                     plan->storage_gb_month);
}

static json_t *plan_to_json(const struct plan *plan)
{
    return json_pack("{s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}",
                     "name", plan->name, "resource_override", (int)plan->resource_override,
                     "disk_gb", (json_int_t)plan->disk_gb, "max_timeout",
                     (json_int_t)plan->max_timeout_s, "sandboxes", (json_int_t)plan->sandboxes,
                     "vcpus", (json_int_t)plan->vcpus, "memory_mb", (json_int_t)plan->memory_mb,
                     "stopped_sandboxes", (json_int_t)plan->stopped_sandboxes, "volumes",
                     (json_int_t)plan->volumes, "checkpoints", (json_int_t)plan->checkpoints,
                     "stopped_days", (json_int_t)plan->stopped_days, "checkpoint_days",
                     (json_int_t)plan->checkpoint_days, "cleanup_warning_hours",
                     (json_int_t)plan->cleanup_warning_hours, "prices", prices_to_json(plan));
}

static int catalogue(struct db *db, json_t **list, struct error **err)
{
    struct plan plans[PLANS_MAX];
    unsigned count;
    if (plan_list(db, plans, &count, err) < 0)
        return -1;
    *list = json_array();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(*list, plan_to_json(&plans[i]));
    return 0;
}

/* What a create that names neither a template nor a size would take: the baseline of the
 * deployment's default template, or the fallback when that has no runnable version. */
static int default_shape(struct api *api, const struct team *team, const struct plan *plan,
                         struct runtime_shape *shape, struct error **err)
{
    struct template_version version;
    error_auto missing = NULL;
    *shape = (struct runtime_shape){plan->cpu_default, plan->memory_mb_default, plan->disk_gb};
    if (template_resolve(api->worker.db, team->id, api->settings->default_template, "/template",
                         &version, &missing) < 0)
        return missing->code == ERR_TEMPLATE_NOT_FOUND ? 0 : error_move(err, &missing);
    shape->cpu = version.cpu;
    shape->memory_mb = version.memory_mb;
    return 0;
}

int limits_show(void *context, const struct route *route, struct http_request *request,
                struct http_response *response, struct error **err)
{
    struct api *api = context;
    struct db *db = api->worker.db;
    const struct team *team;
    struct plan plan;
    struct quota quota;
    json_t *plans;
    struct runtime_shape shape;
    (void)route;
    if (principal_team(&api->principal, http_query(request, "team"), "team", &team, err) < 0 ||
        plan_get(db, team->plan, &plan, err) < 0 ||
        default_shape(api, team, &plan, &shape, err) < 0)
        return -1;
    if (quota_read(db, team->id, &plan, &shape, &quota, err) < 0 || catalogue(db, &plans, err) < 0)
        return -1;
    json_t *cpu_values = json_array();
    for (unsigned i = 0; i < plan.cpu_value_count; i++)
        json_array_append_new(cpu_values, json_integer(plan.cpu_values[i]));
    return http_response_json(
        response, 200,
        json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:s, s:o, s:o}", "team",
                  team->slug, "cpu", (json_int_t)plan.cpu_default, "memory_mb",
                  (json_int_t)plan.memory_mb_default, "plan", plan_to_json(&plan), "plans", plans,
                  "cpu_values", cpu_values, "memory_mb_min", (json_int_t)plan.memory_mb_min,
                  "memory_mb_max", (json_int_t)plan.memory_mb_max, "memory_mb_increment",
                  (json_int_t)plan.memory_mb_increment, "disk_gb", (json_int_t)plan.disk_gb,
                  "max_timeout", (json_int_t)plan.max_timeout_s, "network_class",
                  api->settings->default_network_class, "prices", prices_to_json(&plan), "quota",
                  quota_to_json(&quota)));
}
