/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/id_map.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "helper/criu/message.h"

#define RANGES_MAX 8
/* CRIU's image of a user namespace: two words of magic, the size of a message, the message. */
#define USERS_IMAGE "userns-"
#define MAGIC_SIZE  8
#define HEAD_SIZE   12
#define IMAGE_MAX   512

/* userns_entry: uid_map and gid_map, and of each uid_gid_extent */
enum { FIELD_UIDS = 1, FIELD_GIDS = 2 };
enum { FIELD_INSIDE = 1, FIELD_OUTSIDE = 2, FIELD_COUNT = 3 };

struct range {
    unsigned inside, outside, count;
};

struct ranges {
    struct range list[RANGES_MAX];
    unsigned count;
};

struct users {
    struct ranges uids, gids;
    bool maps_disk; /* the disk has the ids inside */
};

static int fail(const char *what, const char *on)
{
    fprintf(stderr, "sandlot-criu: %s %s: %s\n", what, on, strerror(errno));
    return -1;
}

/* --- the configuration --- */

/* Read lxc.idmap = u 0 1000000 65536. */
static void take_range(struct users *users, const char *line)
{
    struct range range;
    char kind;
    if (sscanf(line, "lxc.idmap = %c %u %u %u", &kind, &range.inside, &range.outside,
               &range.count) != 4)
        return;
    struct ranges *ranges = kind == 'u' ? &users->uids : &users->gids;
    if (ranges->count < RANGES_MAX)
        ranges->list[ranges->count++] = range;
}

static void read_users(struct users *users, const char *config)
{
    autofree char *line = NULL;
    size_t size = 0;
    autofclose FILE *lines = config ? fopen(config, "re") : NULL;
    *users = (struct users){.maps_disk = false};
    while (lines && getline(&line, &size, lines) >= 0) {
        take_range(users, line);
        users->maps_disk = users->maps_disk || (str_starts_with(line, "lxc.rootfs.options") &&
                                                strstr(line, "idmap=container"));
    }
}

/* Return the folder of the configuration; the caller frees it. */
static char *folder_of(const char *config)
{
    const char *slash = strrchr(config, '/');
    return slash ? xstrndup(config, (size_t)(slash - config)) : xstrdup(".");
}

/* --- mounts --- */

static int write_map(pid_t pid, const char *name, const struct ranges *ranges)
{
    autofree char *path = xasprintf("/proc/%d/%s", (int)pid, name);
    char text[RANGES_MAX * 40];
    size_t length = 0;
    for (unsigned i = 0; i < ranges->count; i++) {
        const struct range *range = &ranges->list[i];
        length += (size_t)snprintf(text + length, sizeof text - length, "%u %u %u\n", range->inside,
                                   range->outside, range->count);
    }
    autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, length) == (ssize_t)length ? 0 : -1;
}

static int open_mapped(pid_t pid, const struct ranges *uids, const struct ranges *gids)
{
    autofree char *path = xasprintf("/proc/%d/ns/user", (int)pid);
    if (write_map(pid, "uid_map", uids) < 0 || write_map(pid, "gid_map", gids) < 0)
        return -1;
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Start a process in a user namespace of its own. It waits to be killed. */
static pid_t start_holder(void)
{
    int ends[2];
    char byte;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    autoclose int in = ends[0], out = ends[1];
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWUSER) < 0 || write(out, "", 1) != 1)
            _exit(EXIT_FAILURE);
        pause();
        _exit(EXIT_SUCCESS);
    }
    close(steal_fd(&out));
    if (pid > 0 && read(in, &byte, 1) != 1)
        errno = EPERM;
    return pid;
}

/* Return a descriptor of a user namespace with these ranges. */
static int make_namespace(const struct ranges *uids, const struct ranges *gids)
{
    pid_t pid = start_holder();
    int fd = pid > 0 ? open_mapped(pid, uids, gids) : -1, cause = errno;
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    errno = cause;
    return fd;
}

/* Mount a folder over itself. The ids of its files are those inside the ranges, and are seen as
 * those outside. */
static int map_folder(const char *folder, const struct ranges *uids, const struct ranges *gids)
{
    autoclose int users = make_namespace(uids, gids);
    autoclose int tree = open_tree(AT_FDCWD, folder, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)users};
    if (users < 0 || tree < 0 ||
        mount_setattr(tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0 ||
        move_mount(tree, "", AT_FDCWD, folder, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return fail("cannot map the user ids of", folder);
    return 0;
}

/* --- the image --- */

static uint8_t *put_number(uint8_t *at, unsigned id, uint64_t number)
{
    size_t size = message_number_size(number);
    *at++ = (uint8_t)(id << 3);
    message_put_number(at, size, number);
    return at + size;
}

static uint8_t *put_ranges(uint8_t *at, unsigned id, const struct ranges *ranges)
{
    for (unsigned i = 0; i < ranges->count; i++) {
        uint8_t *size = at + 1;
        *at = (uint8_t)(id << 3 | 2);
        at = put_number(size + 1, FIELD_INSIDE, ranges->list[i].inside);
        at = put_number(at, FIELD_OUTSIDE, ranges->list[i].outside);
        at = put_number(at, FIELD_COUNT, ranges->list[i].count);
        *size = (uint8_t)(at - size - 1);
    }
    return at;
}

/* Return the path of the image of the user namespace; the caller frees it. */
static char *find_image(const char *folder)
{
    char *path = NULL;
    DIR *entries = opendir(folder);
    for (const struct dirent *entry; entries && !path && (entry = readdir(entries));)
        if (str_starts_with(entry->d_name, USERS_IMAGE))
            path = xasprintf("%s/%s", folder, entry->d_name);
    if (entries)
        closedir(entries);
    return path;
}

static int write_whole(const char *path, const uint8_t *data, size_t size)
{
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd >= 0 && write(fd, data, size) == (ssize_t)size ? 0 : -1;
}

/* Replace the ranges. Several sandboxes may be restored from one image, so the image itself does
 * not change: another file is mounted over it. */
static int map_image(const char *folder, const char *config, const struct users *users)
{
    autofree char *path = find_image(folder);
    autofree char *run = folder_of(config);
    autofree char *own = xasprintf("%s/" USERS_IMAGE "own", run);
    uint8_t data[IMAGE_MAX], *end = data + HEAD_SIZE;
    autoclose int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return 0; /* CRIU says what it lacks */
    if (read(fd, data, MAGIC_SIZE) != MAGIC_SIZE)
        return fail("cannot read", path);
    end = put_ranges(end, FIELD_UIDS, &users->uids);
    end = put_ranges(end, FIELD_GIDS, &users->gids);
    uint32_t size = (uint32_t)(end - data - HEAD_SIZE);
    for (unsigned i = 0; i < HEAD_SIZE - MAGIC_SIZE; i++)
        data[MAGIC_SIZE + i] = (uint8_t)(size >> 8 * i);
    if (write_whole(own, data, (size_t)(end - data)) < 0 ||
        mount(own, path, NULL, MS_BIND, NULL) < 0)
        return fail("cannot replace", path);
    return 0;
}

static void make_file(const char *path)
{
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    (void)fd;
}

static unsigned root_of(const struct ranges *ranges)
{
    return ranges->list[0].outside;
}

/* Map the owner of the image to the container's root, because CRIU's children open the files as
 * this user. For its own restores, incusd has changed the owner. */
static int map_files(struct call *call, const char *config, const struct users *users)
{
    autofree char *run = folder_of(config);
    struct stat found;
    if (stat(call->images, &found) < 0)
        return fail("cannot find", call->images);
    if (chmod(call->images, (found.st_mode & 07777) | 0111) < 0)
        return fail("cannot open the folder", call->images);
    if (found.st_uid == root_of(&users->uids) && found.st_gid == root_of(&users->gids))
        return 0;
    const struct ranges uids = {{{found.st_uid, root_of(&users->uids), 1}}, 1};
    const struct ranges gids = {{{found.st_gid, root_of(&users->gids), 1}}, 1};
    /* In a mapped folder CRIU itself can create nothing: its user has no id there. */
    call_add(call, "--work-dir", run);
    if (call->log)
        make_file(call->log);
    return map_folder(call->images, &uids, &gids);
}

int id_map_prepare(struct call *call, const char *config)
{
    struct users users;
    read_users(&users, config);
    if (!users.uids.count || !users.gids.count)
        return 0;
    if (users.maps_disk && call->root && map_folder(call->root, &users.uids, &users.gids) < 0)
        return -1;
    return map_files(call, config, &users) < 0 ? -1 : map_image(call->images, config, &users);
}
