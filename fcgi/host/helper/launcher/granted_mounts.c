/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/launcher/granted_mounts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "common/mount_note.h"

#define PAYLOAD "/lxc.payload."

char *granted_mounts_container(const char *pid)
{
    autofree char *path = xasprintf("/proc/%s/cgroup", pid);
    autofree char *line = NULL;
    size_t size = 0;
    autofclose FILE *groups = fopen(path, "re");
    while (groups && getline(&line, &size, groups) >= 0) {
        const char *name = strstr(line, PAYLOAD);
        if (!name)
            continue;
        name += strlen(PAYLOAD);
        return xstrndup(name, strcspn(name, "/\n"));
    }
    return NULL;
}

bool granted_mounts_has(const char *notes, const char *container, const char *source,
                        const char *target)
{
    autofree char *note = mount_note_read(notes, container);
    struct stat volume;
    return note && stat(source, &volume) == 0 && mount_note_has(note, &volume, target);
}

static bool has_mount(const struct container_config *config, const char *path)
{
    for (unsigned i = 0; i < config->mount_count; i++)
        if (str_equal(config->mounts[i].target, path + 1))
            return true;
    return false;
}

int granted_mounts_settle(const char *notes, const char *container,
                          const struct container_config *config, struct error **err)
{
    autofree char *note = mount_note_read(notes, container);
    const char *left = note;
    if (!note)
        return 0;
    for (char *path; (path = mount_note_next(&left));) {
        bool found = has_mount(config, path);
        if (!found)
            error_set(err, ERR_RUNTIME_REFUSED,
                      "incusd does not know the volume at %s yet, so the container is not started",
                      path);
        free(path);
        if (!found)
            return -1;
    }
    mount_note_remove(notes, container);
    return 0;
}
