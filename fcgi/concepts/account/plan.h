/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules for a plan's values; for this folder and its tests. Other code uses account.h. */
#pragma once

#include "account/account.h"

/*
 * The columns of a plan that an operator can change, in the order in which they are read.
 *
 *   X(column, kind, least, most, check)
 *       FLAG: 0 or 1; NUMBER: least to most; CPUS: see plan_parse_cpus(); TEXT: as check says
 */
#define PLAN_COLUMNS(X)                                \
    X(resource_override, FLAG, 0, 1, NULL)             \
    X(cpu_default, NUMBER, 1, 1024, NULL)              \
    X(memory_mb_default, NUMBER, 64, 16777216, NULL)   \
    X(cpu_values, CPUS, 0, 0, NULL)                    \
    X(memory_mb_min, NUMBER, 64, 16777216, NULL)       \
    X(memory_mb_max, NUMBER, 64, 16777216, NULL)       \
    X(memory_mb_increment, NUMBER, 1, 1048576, NULL)   \
    X(disk_gb, NUMBER, 1, 1048576, NULL)               \
    X(max_timeout_s, NUMBER, 1, 31536000, NULL)        \
    X(sandboxes, NUMBER, 0, 10000000, NULL)            \
    X(vcpus, NUMBER, 0, 10000000, NULL)                \
    X(memory_mb, NUMBER, 0, 2147483648, NULL)          \
    X(stopped_sandboxes, NUMBER, 0, 10000000, NULL)    \
    X(paused_memory_gb, NUMBER, 0, 1048576, NULL)      \
    X(volumes, NUMBER, 0, 10000000, NULL)              \
    X(volume_gb, NUMBER, 1, 1048576, NULL)             \
    X(checkpoints, NUMBER, 0, 10000000, NULL)          \
    X(stopped_days, NUMBER, 0, 36500, NULL)            \
    X(checkpoint_days, NUMBER, 0, 36500, NULL)         \
    X(cleanup_warning_hours, NUMBER, 0, 87600, NULL)   \
    X(audit_days, NUMBER, 30, 36500, NULL)             \
    X(process_log_kib, NUMBER, 0, 65536, NULL)         \
    X(is_public, FLAG, 0, 1, NULL)                     \
    X(virtual_machines_only, FLAG, 0, 1, NULL)         \
    X(currency, TEXT, 0, 0, plan_currency_is_valid)    \
    X(vcpu_hour, TEXT, 0, 0, plan_price_is_valid)      \
    X(memory_gb_hour, TEXT, 0, 0, plan_price_is_valid) \
    X(storage_gb_month, TEXT, 0, 0, plan_price_is_valid)

/* Parse "1,2,4": ascending, at most 16 values. Returns 0 or -1. */
int plan_parse_cpus(const char *text, uint32_t values[16], unsigned *count);

bool plan_currency_is_valid(const char *text); /* three capital letters */
bool plan_price_is_valid(const char *text);    /* a decimal number, at most 16 characters */

/* Check that the values fit together. Errors: ERR_INVALID_REQUEST with the column. */
int plan_check(const struct plan *plan, struct error **err);
