/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/plan.h"

#include <string.h>

#include "base/buffer.h"
#include "base/str.h"

#define CPU_TEXT_MAX 4096 /* bytes of all cpu_values of a plan as text */

int plan_parse_cpus(const char *text, uint32_t values[16], unsigned *count)
{
    uint64_t previous = 0;
    *count = 0;
    for (const char *at = text;; at++) {
        char number[8];
        size_t length = strcspn(at, ",");
        uint64_t value;
        if (length >= sizeof number || *count == 16)
            return -1;
        memcpy(number, at, length);
        number[length] = '\0';
        if (str_parse_u64(number, previous + 1, 1024, &value) < 0)
            return -1;
        values[(*count)++] = (uint32_t)value;
        previous = value;
        at += length;
        if (!*at)
            return 0;
    }
}

bool plan_currency_is_valid(const char *text)
{
    return strlen(text) == 3 && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 3;
}

bool plan_price_is_valid(const char *text)
{
    static const char digits[] = "0123456789";
    size_t whole = strspn(text, digits);
    const char *rest = text + whole;
    if (!whole || strlen(text) > 16 || (whole > 1 && text[0] == '0'))
        return false;
    if (!*rest)
        return true;
    return rest[0] == '.' && rest[1] && rest[1 + strspn(rest + 1, digits)] == '\0';
}

static bool allows_cpu(const struct plan *plan, uint32_t cpu)
{
    for (unsigned i = 0; i < plan->cpu_value_count; i++)
        if (plan->cpu_values[i] == cpu)
            return true;
    return false;
}

int plan_check(const struct plan *plan, struct error **err)
{
    if (!allows_cpu(plan, plan->cpu_default))
        return error_set_field(err, ERR_INVALID_REQUEST, "cpu_default",
                               "cpu_default (%u) must be one of cpu_values.", plan->cpu_default);
    if (plan->memory_mb_min > plan->memory_mb_max)
        return error_set_field(err, ERR_INVALID_REQUEST, "memory_mb_min",
                               "memory_mb_min (%u) must not be above memory_mb_max (%u).",
                               plan->memory_mb_min, plan->memory_mb_max);
    if (plan->memory_mb_default < plan->memory_mb_min ||
        plan->memory_mb_default > plan->memory_mb_max)
        return error_set_field(err, ERR_INVALID_REQUEST, "memory_mb_default",
                               "memory_mb_default (%u) must lie between memory_mb_min (%u) and "
                               "memory_mb_max (%u).",
                               plan->memory_mb_default, plan->memory_mb_min, plan->memory_mb_max);
    return 0;
}

/* --- the sizes that sandboxes may have --- */

int plan_check_cpu(const struct plan *plan, uint32_t cpu, const char *field, struct error **err)
{
    if (allows_cpu(plan, cpu))
        return 0;
    buffer_auto values = BUFFER_INIT(CPU_TEXT_MAX);
    for (unsigned i = 0; i < plan->cpu_value_count; i++)
        buffer_printf(&values, "%s%u", i ? ", " : "", plan->cpu_values[i]);
    return error_set_field(err, ERR_INVALID_REQUEST, field,
                           "The plan %s does not allow %u vCPUs; it allows %s.", plan->name, cpu,
                           buffer_string(&values));
}

int plan_check_memory(const struct plan *plan, uint32_t memory_mb, const char *field,
                      struct error **err)
{
    if (memory_mb >= plan->memory_mb_min && memory_mb <= plan->memory_mb_max &&
        memory_mb % plan->memory_mb_increment == 0)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, field,
                           "The plan %s allows %u to %u MiB of memory, in steps of %u MiB.",
                           plan->name, plan->memory_mb_min, plan->memory_mb_max,
                           plan->memory_mb_increment);
}
