/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/plan_view.h"

#include <stdio.h>

#include "account/plan.h"
#include "api/api.h"
#include "base/mem.h"
#include "base/str.h"

json_t *plan_prices_to_json(const struct plan *plan)
{
    return json_pack("{s:s, s:s, s:s, s:s}", "currency", plan->currency, "vcpu_hour",
                     plan->vcpu_hour, "memory_gb_hour", plan->memory_gb_hour, "storage_gb_month",
                     plan->storage_gb_month);
}

json_t *plan_cpus_to_json(const struct plan *plan, const struct host_largest *largest)
{
    json_t *values = json_array();
    for (unsigned i = 0; i < plan->cpu_value_count; i++)
        if (!largest->cpu || plan->cpu_values[i] <= largest->cpu)
            json_array_append_new(values, json_integer(plan->cpu_values[i]));
    return values;
}

/* Return the largest multiple of the increment that a host can give; at least the plan's
 * minimum. */
uint32_t plan_memory_most(const struct plan *plan, const struct host_largest *largest)
{
    uint32_t most = largest->memory_mb / plan->memory_mb_increment * plan->memory_mb_increment;
    if (!largest->memory_mb || most > plan->memory_mb_max)
        return plan->memory_mb_max;
    return most < plan->memory_mb_min ? plan->memory_mb_min : most;
}

json_t *plan_to_json(const struct plan *plan, const struct host_largest *largest)
{
    return json_pack(
        "{s:s, s:b, s:b, s:b, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
        "s:I, s:I,"
        " s:I, s:o}",
        "name", plan->name, "public", (int)plan->is_public, "virtual_machines_only",
        (int)plan->virtual_machines_only, "resource_override", (int)plan->resource_override,
        "cpu_values", plan_cpus_to_json(plan, largest), "memory_mb_max",
        (json_int_t)plan_memory_most(plan, largest), "disk_gb", (json_int_t)plan->disk_gb,
        "max_timeout", (json_int_t)plan->max_timeout_s, "sandboxes", (json_int_t)plan->sandboxes,
        "vcpus", (json_int_t)plan->vcpus, "memory_mb", (json_int_t)plan->memory_mb,
        "stopped_sandboxes", (json_int_t)plan->stopped_sandboxes, "paused_memory_gb",
        (json_int_t)plan->paused_memory_gb, "volumes", (json_int_t)plan->volumes, "checkpoints",
        (json_int_t)plan->checkpoints, "stopped_days", (json_int_t)plan->stopped_days,
        "checkpoint_days", (json_int_t)plan->checkpoint_days, "cleanup_warning_hours",
        (json_int_t)plan->cleanup_warning_hours, "audit_days", (json_int_t)plan->audit_days,
        "process_log_kib", (json_int_t)plan->process_log_kib, "prices", plan_prices_to_json(plan));
}

/* --- changes by an operator; the plan checks the values --- */

#define TEXT_MAX 16
/* Members that have another name in the plan. */
#define MAX_TIMEOUT "max_timeout"
#define PUBLIC      "public"

static const struct schema_member price_members[] = {
    {.name = "currency", .type = SCHEMA_STRING, .min = 3, .max = 3},
    {.name = "vcpu_hour", .type = SCHEMA_STRING, .min = 1, .max = TEXT_MAX},
    {.name = "memory_gb_hour", .type = SCHEMA_STRING, .min = 1, .max = TEXT_MAX},
    {.name = "storage_gb_month", .type = SCHEMA_STRING, .min = 1, .max = TEXT_MAX},
    {.name = NULL},
};

/* column_LEAST and column_MOST of each column. */
#define BOUNDS(column, kind, least, most, check) column##_LEAST = (least), column##_MOST = (most),
enum { PLAN_COLUMNS(BOUNDS) };
#define NUMBER(member, column)                                                                    \
    {                                                                                             \
        .name = (member), .type = SCHEMA_INTEGER, .min = (column##_LEAST), .max = (column##_MOST) \
    }

const struct schema_member operator_plan_schema[] = {
    {.name = PUBLIC, .type = SCHEMA_BOOLEAN},
    {.name = "virtual_machines_only", .type = SCHEMA_BOOLEAN},
    {.name = "resource_override", .type = SCHEMA_BOOLEAN},
    NUMBER("disk_gb", disk_gb),
    NUMBER(MAX_TIMEOUT, max_timeout_s),
    NUMBER("sandboxes", sandboxes),
    NUMBER("vcpus", vcpus),
    NUMBER("memory_mb", memory_mb),
    NUMBER("stopped_sandboxes", stopped_sandboxes),
    NUMBER("paused_memory_gb", paused_memory_gb),
    NUMBER("volumes", volumes),
    NUMBER("checkpoints", checkpoints),
    NUMBER("stopped_days", stopped_days),
    NUMBER("checkpoint_days", checkpoint_days),
    NUMBER("cleanup_warning_hours", cleanup_warning_hours),
    NUMBER("audit_days", audit_days),
    NUMBER("process_log_kib", process_log_kib),
    {.name = "prices", .type = SCHEMA_OBJECT, .members = price_members},
    {.name = NULL},
};

struct wanted {
    struct plan_value values[ARRAY_SIZE(operator_plan_schema) + ARRAY_SIZE(price_members)];
    char numbers[ARRAY_SIZE(operator_plan_schema)][24];
    unsigned count;
};

static void want(struct wanted *wanted, const char *member, const json_t *value)
{
    struct plan_value *next = &wanted->values[wanted->count];
    const char *column = str_equal(member, MAX_TIMEOUT) ? "max_timeout_s"
                         : str_equal(member, PUBLIC)    ? "is_public"
                                                        : member;
    snprintf(next->column, sizeof next->column, "%s", column);
    next->value = json_string_value(value);
    if (!next->value) {
        char *number = wanted->numbers[wanted->count];
        json_int_t amount =
            json_is_boolean(value) ? json_is_true(value) : json_integer_value(value);
        snprintf(number, sizeof wanted->numbers[0], "%" JSON_INTEGER_FORMAT, amount);
        next->value = number;
    }
    wanted->count++;
}

static void read_wanted(const json_t *body, struct wanted *wanted)
{
    const char *member;
    json_t *value;
    json_object_foreach ((json_t *)body, member, value)
        if (!json_is_object(value))
            want(wanted, member, value);
    json_object_foreach (json_object_get(body, "prices"), member, value)
        want(wanted, member, value);
}

/* Return the plan's own error, with the member of the body that it is about. */
static int refuse(const json_t *body, struct error *refusal, struct error **err)
{
    const char *column = refusal->field ? refusal->field : "";
    bool is_price = json_object_get(json_object_get(body, "prices"), column) != NULL;
    autofree char *pointer = schema_pointer(is_price ? "/prices" : "", column);
    return error_set_field(err, refusal->code, pointer, "%s", refusal->message);
}

int operator_plan_update(void *context, struct http_request *request,
                         struct http_response *response, struct error **err)
{
    struct api *api = context;
    const char *name = request->captures[0];
    struct wanted wanted = {.count = 0};
    struct plan plan;
    struct host_largest largest;
    error_auto refusal = NULL;
    read_wanted(request->json, &wanted);
    if (plan_set(api->worker.db, name, wanted.values, wanted.count, &refusal) < 0)
        return refusal->code == ERR_INVALID_REQUEST ? refuse(request->json, refusal, err)
                                                    : error_move(err, &refusal);
    if (plan_get(api->worker.db, name, &plan, err) < 0 ||
        host_largest(api->worker.db, &largest, err) < 0)
        return -1;
    return http_response_json(response, 200, plan_to_json(&plan, &largest));
}
