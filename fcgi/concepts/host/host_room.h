/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Conditions on a row of hosts, h, and of its storage pool, o; for the *_db.c files that reserve
 * room. */
#pragma once

#include "host/host_answers.h"

/* The percentage of the pool that is kept for existing objects. This is less than the part that
 * pool-guard keeps from the guests, so guests who fill theirs do not stop creates. It is more than
 * the space that a file system calls free although only its metadata can use it. */
#define HOST_POOL_LEAST_FREE  6

#define HOST_TEXT_OF_(number) #number
#define HOST_TEXT_OF(number)  HOST_TEXT_OF_(number)

/* alias: "h." or "" */
#define HOST_MEMORY_MB(alias) \
    "CAST(" alias "memory_mb AS SIGNED) * " alias "memory_overcommit DIV 100"

/* Two parameters: vCPUs and memory. */
#define HOST_HAS_ROOM                                            \
    "h.state = 'active' AND h.memory_low = 0 AND " HOST_ANSWERS( \
        "h.") " AND h.used_vcpus + CAST(? AS SIGNED) <= h.vcpus" \
              " AND h.used_memory_mb + CAST(? AS SIGNED) <= " HOST_MEMORY_MB("h.")

/* One parameter: GiB. The same condition as in host_disk_reserve(). */
#define HOST_POOL_HAS_ROOM                                                                        \
    "o.used_mb + o.total_mb DIV 100 * " HOST_TEXT_OF(                                             \
        HOST_POOL_LEAST_FREE) " <= o.total_mb"                                                    \
                              " AND (h.disk_overcommit = 0"                                       \
                              "   OR (o.promised_gb + CAST(? AS SIGNED)) * 1024 <= o.total_mb * " \
                              "h.disk_overcommit)"
