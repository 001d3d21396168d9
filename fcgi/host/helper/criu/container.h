/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control groups of a container that runs, found by one of its processes. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* What the container uses; as much as the largest has, where it cannot be told. */
unsigned container_memory_mib(pid_t pid);

/* What stops and continues all processes of a container. */
struct freezer {
    char *folder; /* NULL: there is none that we may use */
    bool frozen;  /* by us */
};

void freezer_init(struct freezer *freezer, pid_t pid);
void freezer_deinit(struct freezer *freezer);
/* Wait until all of them stand still, for a moment. One that stands still already is not ours, and
 * one that does not come to rest in time is let go on. */
void freezer_freeze(struct freezer *freezer);
/* Whoever has frozen it. */
void freezer_thaw(const struct freezer *freezer);

static inline void freezer_autodeinit_(struct freezer *freezer)
{
    freezer_deinit(freezer);
}
#define freezer_auto __attribute__((cleanup(freezer_autodeinit_))) struct freezer
