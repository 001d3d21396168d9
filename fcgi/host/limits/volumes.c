/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limits/volumes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "common/mount_note.h"
#include "limits/inside.h"

/* The id shown for ids that the instance does not have. */
#define NOBODY 65534

struct job {
    const struct order *order;
    dev_t disk; /* the device of the instance's subvolume */
    int init;   /* a process descriptor of its first process */
    int trees[ORDER_MOUNTS_MAX];
    struct mount_noted noted[ORDER_MOUNTS_MAX];
};

static void job_deinit(struct job *job)
{
    cleanup_close_(&job->init);
    for (unsigned i = 0; i < job->order->mount_count; i++)
        cleanup_close_(&job->trees[i]);
}
#define job_auto __attribute__((cleanup(job_deinit))) struct job

static int open_beneath(int folder, const char *name, uint64_t more)
{
    return inside_open(folder, name, O_DIRECTORY, more);
}

/* --- on the host --- */

/* Open the subvolume of a volume or an instance, by the name that Incus gives it. */
static int open_of_pool(const struct volumes *volumes, bool is_volume, const char *name)
{
    bool plain = !is_volume && str_equal(volumes->project, "default");
    autofree char *path = xasprintf("%s/%s%s%s", is_volume ? "custom" : "containers",
                                    plain ? "" : volumes->project, plain ? "" : "_", name);
    autoclose int pool = open(volumes->pool, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return pool < 0 ? -1 : open_beneath(pool, path, 0);
}

/* Clone the mount of a folder. Private propagation: later mounts below one copy do not appear in
 * the other. */
static int clone_tree(int folder)
{
    struct mount_attr attributes = {.attr_clr = MOUNT_ATTR_RDONLY, .propagation = MS_PRIVATE};
    autoclose int tree = open_tree(folder, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
    if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0)
        return -1;
    return steal_fd(&tree);
}

static int take_trees(const struct volumes *volumes, struct job *job, struct error **err)
{
    for (unsigned i = 0; i < job->order->mount_count; i++) {
        const struct order_mount *mount = &job->order->mounts[i];
        autoclose int folder = open_of_pool(volumes, true, mount->volume);
        job->trees[i] = folder < 0 ? -1 : clone_tree(folder);
        job->noted[i].path = mount->path;
        if (job->trees[i] < 0 || fstat(job->trees[i], &job->noted[i].volume) < 0)
            return error_set_errno(err, ERR_RUNTIME_REFUSED, errno, "cannot open the volume %s",
                                   mount->volume);
    }
    return 0;
}

static int find_instance(const struct volumes *volumes, const struct groups *groups,
                         struct job *job, struct error **err)
{
    const char *name = job->order->instance;
    struct stat found;
    autoclose int disk = open_of_pool(volumes, false, name);
    if (disk < 0 || fstat(disk, &found) < 0)
        return error_set_errno(err, ERR_RUNTIME_REFUSED, errno, "cannot find its disk");
    job->disk = found.st_dev;
    return inside_find(groups, name, &job->init, err);
}

/* Map the user ids in the volumes to those of the instance. */
static int map_trees(const struct job *job, struct error **err)
{
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_IDMAP};
    autoclose int users = inside_users(job->init, err);
    if (users < 0)
        return -1;
    attributes.userns_fd = (uint64_t)users;
    for (unsigned i = 0; i < job->order->mount_count; i++)
        if (mount_setattr(job->trees[i], "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0)
            return error_set_errno(err, ERR_RUNTIME_REFUSED, errno, "cannot map the user ids of %s",
                                   job->order->mounts[i].volume);
    return 0;
}

/* --- inside --- */

/* Open the root directory, which must be on the instance's own disk. A file system of the guest
 * could block the answer forever. */
static const char *open_root(const struct job *job, int *root)
{
    struct statx found;
    *root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*root < 0 || statx(*root, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &found) < 0)
        return "cannot open its root directory";
    errno = 0;
    return found.stx_dev_major == major(job->disk) && found.stx_dev_minor == minor(job->disk)
               ? NULL
               : "its root directory is not on its disk";
}

/* Open one part of a path, and create it if it is missing. */
static int go_into(int folder, const char *name)
{
    int next = open_beneath(folder, name, RESOLVE_NO_XDEV);
    if (next >= 0 || errno != ENOENT)
        return next;
    if (mkdirat(folder, name, 0755) < 0 && errno != EEXIST)
        return -1;
    return open_beneath(folder, name, RESOLVE_NO_XDEV);
}

static int open_place(int root, const char *path)
{
    char name[ORDER_PATH_SIZE];
    int folder = dup(root);
    while (folder >= 0 && *path) {
        size_t length = strcspn(++path, "/");
        snprintf(name, sizeof name, "%.*s", (int)length, path);
        path += length;
        int next = go_into(folder, name);
        close(folder);
        folder = next;
    }
    return folder;
}

static const char *mount_all(const struct job *job, int root)
{
    const struct order *order = job->order;
    struct stat found;
    int places[ORDER_MOUNTS_MAX];
    for (unsigned i = 0; i < order->mount_count; i++) {
        if (fstat(job->trees[i], &found) < 0 || found.st_uid >= NOBODY || found.st_gid >= NOBODY)
            return "a volume has other user ids than those of instances";
        places[i] = open_place(root, order->mounts[i].path);
        if (places[i] < 0)
            return "cannot open a mount point";
    }
    for (unsigned i = 0; i < order->mount_count; i++)
        if (move_mount(job->trees[i], "", places[i], "",
                       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
            return "cannot mount a volume";
    return NULL;
}

static const char *mount_inside(const void *context)
{
    const struct job *job = context;
    int root = -1;
    const char *failed = open_root(job, &root);
    return failed ? failed : mount_all(job, root);
}

/* --- all steps --- */

int volumes_check(const struct volumes *volumes, struct error **err)
{
    autoclose int pool = open(volumes->pool, O_PATH | O_DIRECTORY | O_CLOEXEC);
    autoclose int tree = pool < 0 ? -1 : clone_tree(pool);
    if (tree < 0)
        return error_set_errno(err, ERR_RUNTIME_REFUSED, errno, "cannot mount volumes");
    if (setns(-1, CLONE_NEWUSER | CLONE_NEWNS) < 0 && errno != EBADF)
        return error_set_errno(err, ERR_RUNTIME_REFUSED, errno,
                               "cannot enter the namespaces of an instance");
    return 0;
}

static bool is_done(const struct volumes *volumes, const struct job *job)
{
    autofree char *note = mount_note_read(volumes->notes, job->order->instance);
    for (unsigned i = 0; note && i < job->order->mount_count; i++)
        if (!mount_note_has(note, &job->noted[i].volume, job->noted[i].path))
            return false;
    return note;
}

int volumes_mount(const struct volumes *volumes, const struct groups *groups,
                  const struct order *order, struct error **err)
{
    job_auto job = {.order = order, .init = -1};
    for (unsigned i = 0; i < order->mount_count; i++)
        job.trees[i] = -1;
    if (take_trees(volumes, &job, err) < 0)
        return -1;
    if (is_done(volumes, &job))
        return 0;
    if (find_instance(volumes, groups, &job, err) < 0 || map_trees(&job, err) < 0 ||
        inside_run(job.init, volumes->inside_ms, mount_inside, &job, err) < 0)
        return -1;
    return mount_note_write(volumes->notes, order->instance, job.noted, order->mount_count, err);
}
