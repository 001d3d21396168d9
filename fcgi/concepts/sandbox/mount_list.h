/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sandbox's volumes in the form of the runtime. */
#pragma once

#include "runtime/runtime.h"
#include "sandbox/sandbox.h"
#include "volume/volume_mount.h"

struct mount_list {
    struct runtime_mount mounts[VOLUME_MOUNTS_MAX];
    unsigned count;
    char names[VOLUME_MOUNTS_MAX][VOLUME_INSTANCE_SIZE]; /* borrowed by the mounts */
    json_t *paths; /* likewise; NULL: the paths belong to others */
};
void mount_list_deinit(struct mount_list *list);

static inline void mount_list_autodeinit_(struct mount_list *list)
{
    mount_list_deinit(list);
}
#define mount_list_auto __attribute__((cleanup(mount_list_autodeinit_))) struct mount_list

/* Fill the list from mounts that were found; their paths are borrowed. */
void mount_list_fill(struct mount_list *list, const struct volume_mount *mounts, unsigned count);

/* Fill the list from a sandbox's row, in the order of its create. `list` is empty before. */
int mount_list_read(struct mount_list *list, struct db *db, const struct sandbox *sandbox,
                    struct error **err);
