/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/launcher/disk_view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/disk_view.h"
#include "base/mem.h"
#include "base/str.h"
#include "common/btrfs.h"

#define NOTHING DISK_VIEW_LINKS "/.none"

/* Return the quota group of the subvolume that holds a folder. NULL: it has none. */
static char *quota_group_of(const char *path)
{
    struct btrfs_ioctl_ino_lookup_args lookup = {.objectid = BTRFS_FIRST_FREE_OBJECTID};
    char uuid[BTRFS_UUID_TEXT_SIZE];
    autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || btrfs_uuid_of(fd, uuid) < 0 || ioctl(fd, BTRFS_IOC_INO_LOOKUP, &lookup) < 0)
        return NULL;
    char *group =
        xasprintf("/sys/fs/btrfs/%s/qgroups/0_%llu", uuid, (unsigned long long)lookup.treeid);
    if (access(group, F_OK) == 0)
        return group;
    free(group);
    return NULL;
}

void disk_view_sweep(void)
{
    DIR *links = opendir(DISK_VIEW_LINKS);
    for (struct dirent *entry; links && (entry = readdir(links));)
        if (entry->d_type == DT_LNK && faccessat(dirfd(links), entry->d_name, F_OK, 0) < 0)
            unlinkat(dirfd(links), entry->d_name, 0);
    if (links)
        closedir(links);
}

static int make_folder(const char *path)
{
    return mkdir(path, 0755) < 0 && errno != EEXIST ? -1 : 0;
}

static int point(const char *link, const char *target, struct error **err)
{
    autofree char *fresh = xasprintf("%s.%d", link, (int)getpid());
    if (make_folder(DISK_VIEW_LINKS) < 0 || make_folder(NOTHING) < 0 ||
        symlink(target, fresh) < 0 || rename(fresh, link) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot create link %s", link);
    return 0;
}

static const char *find_link(const struct container_config *config)
{
    for (unsigned i = 0; i < config->mount_count; i++)
        if (str_equal(config->mounts[i].target, DISK_VIEW_TARGET) &&
            str_starts_with(config->mounts[i].source, DISK_VIEW_LINKS "/"))
            return config->mounts[i].source;
    return NULL;
}

int disk_view_prepare(const struct container_config *config, struct error **err)
{
    const char *link = find_link(config);
    if (!link)
        return 0;
    if (strchr(link + strlen(DISK_VIEW_LINKS "/"), '/') || !config->rootfs)
        return error_set(err, ERR_CONFIG, "link %s has no disk", link);
    autofree char *group = quota_group_of(config->rootfs);
    return point(link, group ? group : NOTHING, err);
}
