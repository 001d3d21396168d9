/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find the control groups of a running container, by one of its processes. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Return the memory that the container uses, in MiB. If this is not known, return that of the
 * largest container. */
unsigned container_memory_mib(pid_t pid);

/* Return whether CRIU must not freeze the container, because it would hang. CRIU attaches to frozen
 * processes, and the freezer of control groups v1 lets no stopped process (SIGSTOP) answer that. */
bool container_cannot_freeze(pid_t pid);

/* The control group that freezes all processes of a container. */
struct freezer {
    char *folder; /* NULL: this program cannot use any */
    bool frozen;  /* by this program */
};

void freezer_init(struct freezer *freezer, pid_t pid);
void freezer_deinit(struct freezer *freezer);
/* Freeze all processes, and wait for a moment until they are frozen. A container that is already
 * frozen is left alone. One that does not freeze in time is thawed again. */
void freezer_freeze(struct freezer *freezer);
/* Freeze all processes, without a wait. Processes that CRIU holds do not run on when it lets them
 * go. */
void freezer_hold(const struct freezer *freezer);
/* Thaw the container, also when another program has frozen it. */
void freezer_thaw(const struct freezer *freezer);

static inline void freezer_autodeinit_(struct freezer *freezer)
{
    freezer_deinit(freezer);
}
#define freezer_auto __attribute__((cleanup(freezer_autodeinit_))) struct freezer
