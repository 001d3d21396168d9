/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Volumes of a pool of btrfs in an instance that runs: mounted as incusd mounts them, whose volumes
 * have the user ids of instances on disk (INCUS_IDMAPPED_MOUNTS_DISABLE). Root in the instance may
 * be hostile: nothing of what it mounts is looked at or passed through, no link is followed, and
 * what is done in there is done with its rights, by a process that is not waited for without end.
 */
#pragma once

#include "limits/group.h"
#include "limits/order.h"

struct volumes {
    const char *pool;    /* where the storage pool is mounted */
    const char *project; /* of Incus; borrowed */
    const char *notes;   /* base/mount_note.h */
    unsigned inside_ms;  /* what is done in an instance may take, while others wait */
};

/* Whether the kernel, or a filter of system calls, lets it mount. Errors: ERR_RUNTIME_REFUSED. */
int volumes_check(const struct volumes *volumes, struct error **err);

/* Mount those of an order, and note it for when incusd is told. Those that are noted are there.
 * Errors: ERR_NOT_FOUND (no such instance runs), ERR_RUNTIME_REFUSED (a volume was not mounted in
 * any instance yet, so that incusd has to give its files their user ids; a place is a link, no
 * directory, or behind a mount of the guest; the kernel does not do it), ERR_CONFIG (it cannot be
 * noted). Some may be mounted then, and can be again. */
int volumes_mount(const struct volumes *volumes, const struct groups *groups,
                  const struct order *order, struct error **err);
