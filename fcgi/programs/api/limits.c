/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/api.h"
#include "api/plan_view.h"
#include "base/str.h"
#include "template/template.h"

struct catalogue {
    struct plan plans[PLANS_MAX];
    unsigned count;
};

static json_t *catalogue_to_json(const struct catalogue *catalogue)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < catalogue->count; i++)
        json_array_append_new(list, plan_to_json(&catalogue->plans[i]));
    return list;
}

/* All plans, and the one of that name among them. */
static int read_plans(struct db *db, const char *name, struct catalogue *catalogue,
                      const struct plan **plan, struct error **err)
{
    if (plan_list(db, catalogue->plans, &catalogue->count, err) < 0)
        return -1;
    for (unsigned i = 0; i < catalogue->count; i++) {
        *plan = &catalogue->plans[i];
        if (str_equal((*plan)->name, name))
            return 0;
    }
    return error_set(err, ERR_INTERNAL, "the team is on plan %s, which there is not", name);
}

/* What a create that names neither a template nor a size would take: the baseline of the
 * deployment's default template, or the fallback when that has no runnable version. */
static int default_resources(struct api *api, const struct team *team, const struct plan *plan,
                             struct runtime_resources *resources, struct error **err)
{
    struct template_version version;
    error_auto missing = NULL;
    *resources =
        (struct runtime_resources){plan->cpu_default, plan->memory_mb_default, plan->disk_gb};
    if (template_resolve(api->worker.db, team->id, api->settings->default_template, "/template",
                         &version, &missing) < 0)
        return missing->code == ERR_TEMPLATE_NOT_FOUND ? 0 : error_move(err, &missing);
    resources->cpu = version.cpu;
    resources->memory_mb = version.memory_mb;
    return 0;
}

int limits_show(void *context, struct http_request *request, struct http_response *response,
                struct error **err)
{
    struct api *api = context;
    struct db *db = api->worker.db;
    const struct team *team = api->access.team;
    struct catalogue catalogue;
    const struct plan *plan = NULL;
    struct quota quota;
    struct runtime_resources resources;
    (void)request;
    if (read_plans(db, team->plan, &catalogue, &plan, err) < 0 ||
        default_resources(api, team, plan, &resources, err) < 0 ||
        quota_read(db, team->id, plan, &resources, &quota, err) < 0)
        return -1;
    json_t *cpu_values = json_array();
    for (unsigned i = 0; i < plan->cpu_value_count; i++)
        json_array_append_new(cpu_values, json_integer(plan->cpu_values[i]));
    return http_response_json(
        response, 200,
        json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:s, s:o, s:o}", "team",
                  team->slug, "cpu", (json_int_t)plan->cpu_default, "memory_mb",
                  (json_int_t)plan->memory_mb_default, "plan", plan_to_json(plan), "plans",
                  catalogue_to_json(&catalogue), "cpu_values", cpu_values, "memory_mb_min",
                  (json_int_t)plan->memory_mb_min, "memory_mb_max", (json_int_t)plan->memory_mb_max,
                  "memory_mb_increment", (json_int_t)plan->memory_mb_increment, "disk_gb",
                  (json_int_t)plan->disk_gb, "max_timeout", (json_int_t)plan->max_timeout_s,
                  "network_class", api->settings->default_network_class, "prices",
                  plan_prices_to_json(plan), "quota", quota_to_json(&quota)));
}
