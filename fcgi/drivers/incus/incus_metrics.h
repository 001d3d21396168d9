/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read the usage of the running instances of a project from Incus' own OpenMetrics text. One call
 * reads all instances, at half the cost of reading each state. Incus keeps the text for eight
 * seconds; calls in this time get the same numbers.
 *
 * Source of the names: Incus 6.0, internal/server/metrics/types.go. A virtual machine without
 * incus-agent has no memory numbers there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "incus/incus.h"

struct incus_usage {
    char name[64];
    bool virtual_machine;
    bool has_cpu, has_memory; /* values that the text lacks are 0 */
    uint64_t cpu_ms;          /* since the instance was started or restored */
    uint64_t memory_bytes;    /* its limit */
    uint64_t free_bytes, cached_bytes;
    uint64_t memory_kills; /* processes that the kernel killed for want of memory, likewise */
};

/* Get the metrics of all instances. The caller frees *list. Errors as incus_get(). */
int incus_metrics_get(struct incus *incus, struct incus_usage **list, size_t *count,
                      struct error **err);

/* Parse the text: each instance once, by name. Unknown lines are skipped. The caller frees
 * *list. */
void incus_metrics_parse(const char *text, struct incus_usage **list, size_t *count);
