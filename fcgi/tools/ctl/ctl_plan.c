/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "account/plan.h"
#include "base/mem.h"
#include "ctl/output.h"

static json_t *cpus_json(const struct plan *plan)
{
    json_t *values = json_array();
    for (unsigned i = 0; i < plan->cpu_value_count; i++)
        json_array_append_new(values, json_integer(plan->cpu_values[i]));
    return values;
}

static json_t *plan_json(const struct plan *plan)
{
    json_t *object = json_pack("{s:s}", "name", plan->name);
#define VALUE_FLAG(column)   json_boolean(plan->column)
#define VALUE_NUMBER(column) json_integer(plan->column)
#define VALUE_TEXT(column)   json_string(plan->column)
#define VALUE_CPUS(column)   cpus_json(plan)
#define SET_MEMBER(column, kind, least, most, check) \
    json_object_set_new(object, #column, VALUE_##kind(column));
    PLAN_COLUMNS(SET_MEMBER)
    return object;
}

int ctl_plan_list(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    static const struct ctl_column columns[] = {
        {"NAME", "name"},       {"SANDBOXES", "sandboxes"},
        {"VCPUS", "vcpus"},     {"MEMORY MB", "memory_mb"},
        {"CPU", "cpu_values"},  {"MEMORY MAX MB", "memory_mb_max"},
        {"DISK GB", "disk_gb"}, {"TIMEOUT S", "max_timeout_s"},
        {"VOLUMES", "volumes"}, {"CHECKPOINTS", "checkpoints"},
    };
    struct plan plans[PLANS_MAX];
    unsigned count;
    (void)arguments;
    if (plan_list(ctl->db, plans, &count, err) < 0)
        return -1;
    json_t *rows = JSON_LIST(plans, count, plan_json);
    ctl_print_rows(ctl, "plans", rows, columns, ARRAY_SIZE(columns));
    return 0;
}

static int read_assignment(const char *assignment, struct plan_value *value, struct error **err)
{
    const char *equals = strchr(assignment, '=');
    if (!equals)
        return error_set(err, ERR_INVALID_REQUEST, "Write FIELD=VALUE instead of %s.", assignment);
    snprintf(value->column, sizeof value->column, "%.*s", (int)(equals - assignment), assignment);
    value->value = equals + 1;
    return 0;
}

static int set_all(struct ctl *ctl, const char *name, const struct ctl_arguments *arguments,
                   struct error **err)
{
    struct plan_value values[CTL_OPERANDS_MAX];
    unsigned count = arguments->operand_count - 1;
    for (unsigned i = 0; i < count; i++)
        if (read_assignment(arguments->operands[i + 1], &values[i], err) < 0)
            return -1;
    return plan_set(ctl->db, name, values, count, err);
}

int ctl_plan_set(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *name = arguments->operands[0];
    struct plan plan;
    if (set_all(ctl, name, arguments, err) < 0 || plan_get(ctl->db, name, &plan, err) < 0)
        return -1;
    ctl_print(ctl, plan_json(&plan), "Plan %s is changed.", plan.name);
    return 0;
}

int ctl_plan_create(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *name = arguments->operands[0], *from = ctl_text(arguments, "from");
    struct plan plan;
    if (plan_create(ctl->db, name, from, err) < 0 || plan_get(ctl->db, name, &plan, err) < 0)
        return -1;
    ctl_print(ctl, plan_json(&plan), "Plan %s has the values of %s.", name, from);
    return 0;
}

int ctl_plan_remove(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *name = arguments->operands[0];
    if (plan_remove(ctl->db, name, err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s, s:b}", "name", name, "removed", 1), "Plan %s is removed.",
              name);
    return 0;
}
