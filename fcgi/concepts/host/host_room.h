/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For *_db.c that take room of a host: conditions on a row of hosts, h, and of its pool, o. */
#pragma once

#include "host/host_answers.h"

/* Of the pool, in percent: less than this is for what exists. It is below the part that pool-guard
 * keeps from the guests, so that guests who have filled theirs stop no creates, and above what a
 * file system calls free although only its metadata can have it. */
#define HOST_POOL_LEAST_FREE  6

#define HOST_TEXT_OF_(number) #number
#define HOST_TEXT_OF(number)  HOST_TEXT_OF_(number)

/* alias: "h." or "" */
#define HOST_MEMORY_MB(alias) \
    "CAST(" alias "memory_mb AS SIGNED) * " alias "memory_overcommit DIV 100"

/* With two places: vCPUs and memory. */
#define HOST_HAS_ROOM                                            \
    "h.state = 'active' AND h.memory_low = 0 AND " HOST_ANSWERS( \
        "h.") " AND h.used_vcpus + CAST(? AS SIGNED) <= h.vcpus" \
              " AND h.used_memory_mb + CAST(? AS SIGNED) <= " HOST_MEMORY_MB("h.")

/* With a place: GiB. As host_disk_reserve() has it. */
#define HOST_POOL_HAS_ROOM                                                                        \
    "o.used_mb + o.total_mb DIV 100 * " HOST_TEXT_OF(                                             \
        HOST_POOL_LEAST_FREE) " <= o.total_mb"                                                    \
                              " AND (h.disk_overcommit = 0"                                       \
                              "   OR (o.promised_gb + CAST(? AS SIGNED)) * 1024 <= o.total_mb * " \
                              "h.disk_overcommit)"
