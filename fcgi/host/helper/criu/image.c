/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "common/btrfs.h"
#include "helper/criu/image_calls.h"
#include "helper/criu/image_clock.h"
#include "helper/criu/image_network.h"
#include "helper/criu/image_timers.h"

#define OWNER          "sandlot-owner"
#define SIZES          "sandlot-sizes"
#define PLAIN          "sandlot-plain"
#define RUNNING        "sandlot-running"
#define MEMORY         "sandlot-memory-mib"

#define GROUPS_IMAGE   "cgroup.img"
#define GROUPS_MOST    (1 << 20)
#define PROFILES_IMAGE "apparmor.img"

static char *path_in(const char *folder, const char *name)
{
    return xasprintf("%s/%s", folder, name);
}

static bool exists_in(const char *folder, const char *name)
{
    autofree char *path = path_in(folder, name);
    return access(path, F_OK) == 0;
}

/* --- the subvolume --- */

/* Return whether the pool has a quota group for images. */
static bool has_group(int fd)
{
    autofree char *groups = btrfs_groups_of(fd);
    return groups && exists_in(groups, BTRFS_IMAGES_NAME);
}

static int make_subvolume(int parent, const char *name)
{
    union {
        struct btrfs_qgroup_inherit inherit;
        char bytes[sizeof(struct btrfs_qgroup_inherit) + sizeof(__u64)];
    } group = {.inherit = {.num_qgroups = 1}};
    struct btrfs_ioctl_vol_args_v2 order = {.flags = BTRFS_SUBVOL_QGROUP_INHERIT};
    uint64_t images = BTRFS_IMAGES;
    memcpy(group.bytes + sizeof group.inherit, &images, sizeof images);
    order.size = sizeof group;
    order.qgroup_inherit = &group.inherit;
    snprintf(order.name, sizeof order.name, "%s", name);
    return ioctl(parent, BTRFS_IOC_SUBVOL_CREATE_V2, &order);
}

void image_make_room(const char *folder)
{
    autofree char *path = xstrdup(folder);
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        path[--length] = '\0';
    char *name = strrchr(path, '/');
    if (!name || name == path)
        return;
    *name++ = '\0';
    autoclose int parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0 || !has_group(parent) || unlinkat(parent, name, AT_REMOVEDIR) < 0)
        return;
    int made = make_subvolume(parent, name) < 0 ? mkdirat(parent, name, 0700)
                                                : fchmodat(parent, name, 0700, 0);
    if (made < 0)
        fprintf(stderr, "sandlot-criu: cannot create %s again: %s\n", folder, strerror(errno));
}

/* --- the owner --- */

/* Return the instance that a folder of images belongs to. */
char *image_owner(const char *folder)
{
    size_t length = strlen(folder);
    while (length && folder[length - 1] == '/')
        length--;
    while (length && folder[length - 1] != '/')
        length--;
    size_t end = length ? length - 1 : 0, start = end;
    while (start && folder[start - 1] != '/')
        start--;
    return xstrndup(folder + start, end - start);
}

bool image_is_of_owner(const char *folder)
{
    autofree char *path = path_in(folder, OWNER);
    autofree char *owner = image_owner(folder);
    autofree char *line = NULL;
    size_t size = 0;
    autofclose FILE *file = fopen(path, "re");
    if (!file || getline(&line, &size, file) < 0)
        return false;
    line[strcspn(line, "\n")] = '\0';
    return str_equal(line, owner);
}

static void write_owner(const char *folder)
{
    autofree char *path = path_in(folder, OWNER);
    autofree char *owner = image_owner(folder);
    autofclose FILE *file = fopen(path, "we");
    if (file)
        fprintf(file, "%s\n", owner);
}

/* --- sizes --- */

static int is_image(const struct dirent *entry)
{
    return str_ends_with(entry->d_name, ".img");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Return a line for each file of CRIU. NULL: they cannot be read. */
static char *sizes_of(const char *folder)
{
    struct dirent **entries = NULL;
    char *text = NULL;
    size_t size = 0;
    int count = scandir(folder, &entries, is_image, by_name);
    FILE *out = count < 0 ? NULL : open_memstream(&text, &size);
    bool whole = out;
    for (int i = 0; i < count; i++) {
        autofree char *path = path_in(folder, entries[i]->d_name);
        struct stat found;
        whole = whole && stat(path, &found) == 0 &&
                fprintf(out, "%lld %s\n", (long long)found.st_size, entries[i]->d_name) > 0;
        free(entries[i]);
    }
    free(entries);
    if (out)
        fclose(out);
    if (whole)
        return text;
    free(text);
    return NULL;
}

/* Return whether both texts have the same lines, in any order. */
static bool same_lines(const char *known, const char *found)
{
    autofree char *lines = xasprintf("\n%s", found);
    autofree char *copy = xstrdup(known);
    char *rest = NULL;
    if (strlen(known) != strlen(found))
        return false;
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        autofree char *wanted = xasprintf("\n%s\n", line);
        if (!strstr(lines, wanted))
            return false;
    }
    return true;
}

bool image_is_whole(const char *folder)
{
    autofree char *path = path_in(folder, SIZES);
    autofree char *found = NULL;
    autofree char *known = NULL;
    size_t size = 0;
    autofclose FILE *file = fopen(path, "re");
    if (!file)
        return true;
    found = sizes_of(folder);
    return found && getdelim(&known, &size, '\0', file) > 0 && same_lines(known, found);
}

static void write_sizes(const char *folder)
{
    autofree char *path = path_in(folder, SIZES);
    autofree char *sizes = sizes_of(folder);
    FILE *file = sizes ? fopen(path, "we") : NULL;
    if (file && (fputs(sizes, file) < 0) + fclose(file) != 0)
        unlink(path);
}

/* --- the state of the freezer --- */

/* Replace FROZEN with THAWED. An entry has the name, the mark and length of a text of six bytes,
 * and the text. */
static void say_thawed(char *data, size_t size)
{
    static const char before[] = "freezer.state\x12\x06"
                                 "FROZEN";
    static const char thawed[6] = {'T', 'H', 'A', 'W', 'E', 'D'};
    const size_t length = sizeof before - 1;
    char *end = data + size;
    for (char *at = data; (at = memmem(at, (size_t)(end - at), before, length)); at += length)
        memcpy(at + length - sizeof thawed, thawed, sizeof thawed);
}

static void thaw_image(const char *folder)
{
    autofree char *path = path_in(folder, GROUPS_IMAGE);
    autofree char *data = NULL;
    struct stat found;
    autoclose int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &found) < 0 || found.st_size <= 0 || found.st_size > GROUPS_MOST)
        return;
    size_t size = (size_t)found.st_size;
    data = xmalloc(size);
    if (pread(fd, data, size, 0) != found.st_size)
        return;
    say_thawed(data, size);
    if (pwrite(fd, data, size, 0) != found.st_size)
        fprintf(stderr, "sandlot-criu: cannot write %s: %s\n", path, strerror(errno));
}

/* Delete the profiles in the container's AppArmor namespace from the image. A sandbox cannot load
 * any. A restore elsewhere would create an empty namespace with the original's name, which Incus
 * never deletes. */
static void forget_profiles(const char *folder)
{
    autofree char *path = path_in(folder, PROFILES_IMAGE);
    unlink(path);
}

void image_seal(const char *folder)
{
    thaw_image(folder);
    forget_profiles(folder);
    image_forget_network(folder);
    image_mend_timers(folder);
    image_restart_calls(folder);
    image_widen_clock(folder);
    write_owner(folder);
    write_sizes(folder);
}

void image_note_memory(const char *folder, unsigned mib)
{
    autofree char *path = path_in(folder, MEMORY);
    autofclose FILE *file = fopen(path, "we");
    if (file)
        fprintf(file, "%u\n", mib);
}

/* --- marks --- */

static void mark(const char *folder, const char *name)
{
    autofree char *path = path_in(folder, name);
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    (void)fd;
}

void image_mark_running(const char *folder)
{
    struct stat found;
    if (stat(folder, &found) == 0 && found.st_ino == BTRFS_FIRST_FREE_OBJECTID)
        mark(folder, RUNNING);
}

void image_mark_plain(const char *folder)
{
    mark(folder, PLAIN);
}

bool image_is_plain(const char *folder)
{
    return exists_in(folder, PLAIN);
}
