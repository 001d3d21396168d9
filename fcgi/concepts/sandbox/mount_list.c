/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/mount_list.h"

void mount_list_deinit(struct mount_list *list)
{
    json_decref(list->paths);
}

void mount_list_fill(struct mount_list *list, const struct volume_mount *mounts, unsigned count)
{
    list->paths = NULL;
    list->count = count;
    for (unsigned i = 0; i < count; i++)
        list->mounts[i] = (struct runtime_mount){
            .volume = volume_instance_name(mounts[i].volume_id, list->names[i]),
            .path = mounts[i].path,
        };
}

int mount_list_read(struct mount_list *list, struct db *db, const struct sandbox *sandbox,
                    struct error **err)
{
    struct volume_mount mounts[VOLUME_MOUNTS_MAX];
    unsigned count;
    json_t *paths = json_loads(sandbox->volume_mounts, 0, NULL);
    mount_list_fill(list, NULL, 0);
    list->paths = paths;
    if (volume_mounts_read(paths, mounts, &count, err) < 0 ||
        volume_mounts_find(db, sandbox->id, mounts, count, err) < 0)
        return -1;
    mount_list_fill(list, mounts, count);
    list->paths = paths;
    return 0;
}
