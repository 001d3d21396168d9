/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mount volumes of a btrfs pool in a running instance, as incusd does.
 *
 * The files of volumes have the user ids inside instances. Each instance has a range of its own on
 * the host, so each mount maps them. Root in the instance may be hostile. Therefore the guest's
 * mounts are neither read nor crossed, and links are not followed. A process with the guest's
 * rights and a time limit does the work inside.
 */
#pragma once

#include "limits/group.h"
#include "limits/order.h"

struct volumes {
    const char *pool;    /* the mount point of the storage pool */
    const char *project; /* of Incus; borrowed */
    const char *notes;   /* common/mount_note.h */
    unsigned inside_ms;  /* the time limit inside an instance, while others wait */
};

/* Check that the kernel and the filter of system calls allow mounts. Errors:
 * ERR_RUNTIME_REFUSED. */
int volumes_check(const struct volumes *volumes, struct error **err);

/* Mount the volumes of an order, and write the note for incusd-exec. Volumes that the note names
 * are already mounted. Errors: ERR_NOT_FOUND (no such instance runs), ERR_CONFIG (cannot write the
 * note), or ERR_RUNTIME_REFUSED:
 *
 * - The volume or the instance's disk is not in the storage pool.
 * - The volume has ids that no instance has.
 * - The place is a link, not a directory, or behind a mount of the guest.
 * - The kernel refuses the mount, or the work takes more than inside_ms.
 *
 * After an error some volumes may be mounted; the call can be repeated. */
int volumes_mount(const struct volumes *volumes, const struct groups *groups,
                  const struct order *order, struct error **err);
