/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/btrfs/fork_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "common/btrfs.h"
#include "helper/btrfs/files.h"

#define SNAPSHOTS "/containers-snapshots/"
#define IMAGES    "sandlot-images"
#define FORK      "fork-"
#define STATE     "/state"
/* Files in a memory image (fcgi/host/helper/criu/image.c), or in the folder with its name. */
#define OWNER   "sandlot-owner"
#define RUNNING "sandlot-running"
#define IMAGE   "sandlot-image"

enum {
    ATTEMPTS = 5,
    /* A start from an image locks the image until the start has ended. */
    LOCK_MS = 60000,
};

/* --- places --- */

/* Return the slash before the part of a path that ends here. */
static const char *part_before(const char *path, const char *end)
{
    return end ? memrchr(path, '/', (size_t)(end - path)) : NULL;
}

char *fork_image_of(const char *snapshot)
{
    const char *name = strrchr(snapshot, '/');
    const char *instance = part_before(snapshot, name);
    const char *folder = part_before(snapshot, instance);
    if (!folder || !str_starts_with(name + 1, FORK) || !str_starts_with(folder, SNAPSHOTS) ||
        folder + strlen(SNAPSHOTS) != instance + 1 || name == instance + 1)
        return NULL;
    return xasprintf("%.*s/" IMAGES "/%.*s.%s", (int)(folder - snapshot), snapshot,
                     (int)(name - instance - 1), instance + 1, name + 1);
}

static char *parent_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return xstrndup(path, (size_t)(slash - path));
}

/* --- the name in the snapshot --- */

int fork_image_name(const char *snapshot, const char *image)
{
    autofree char *state = xasprintf("%s" STATE, snapshot);
    autofree char *owner = files_read_line(image, OWNER);
    if (!owner)
        return files_complain("cannot find the owner of", image);
    if ((rmdir(state) < 0 && errno != ENOENT) || mkdir(state, 0700) < 0)
        return files_complain("cannot create the folder for the name of an image:", state);
    if (files_write_line(state, OWNER, owner) < 0 ||
        files_write_line(state, IMAGE, strrchr(image, '/') + 1) < 0)
        return files_complain("cannot write the name of an image in", state);
    return 0;
}

/* Put the image at its place with put(from, image), and write its name. A failure fails the
 * snapshot: sandboxes of the fork would otherwise start from the disk. Returns the exit status. */
static int share(int (*put)(const char *, const char *), const char *from, const char *snapshot,
                 const char *image)
{
    autofree char *folder = parent_of(image);
    files_make_folder(folder, 0711);
    int result = put(from, image) < 0 ? files_complain("cannot put an image at", image)
                                      : fork_image_name(snapshot, image);
    if (result == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "btrfs: cannot share the memory of snapshot %s\n", snapshot);
    return EXIT_FAILURE;
}

/* --- the snapshot --- */

/* Create a placeholder in the folder of an instance's snapshots. incusd deletes this folder with
 * the last snapshot, but only when it is empty. The next snapshot may already be on its way
 * there. */
static void hold_folder(const char *folder, const char *placeholder)
{
    for (unsigned attempt = 1; attempt <= ATTEMPTS; attempt++) {
        files_make_folder(folder, 0711);
        autoclose int fd = open(placeholder, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd >= 0)
            return;
        fprintf(stderr, "btrfs: the folder %s does not exist any more, at attempt %u\n", folder,
                attempt);
    }
}

static int copy(const char *from, const char *to)
{
    autofree char *folder = parent_of(to);
    autofree char *placeholder = xasprintf("%s/.%d", folder, (int)getpid());
    hold_folder(folder, placeholder);
    int result = btrfs_subvolume_copy(from, to);
    if (result < 0)
        fprintf(stderr, "ERROR: Could not create snapshot: %s\n", strerror(errno));
    unlink(placeholder);
    return result;
}

/* Copy a running sandbox and move its image away. The wrapper of CRIU waits for the move. */
static int snapshot_of_all(const char *from, const char *to, const char *image)
{
    autofree char *state = xasprintf("%s" STATE, from);
    if (copy(from, to) < 0)
        return EXIT_FAILURE;
    return files_exist(state, RUNNING) ? share(rename, state, to, image) : EXIT_SUCCESS;
}

int fork_image_snapshot(const char *from, const char *to)
{
    size_t rest = str_ends_with(to, STATE) ? strlen(STATE) : 0;
    autofree char *snapshot = xstrndup(to, strlen(to) - rest);
    autofree char *image = fork_image_of(snapshot);
    if (!image)
        return -1;
    if (!rest)
        return snapshot_of_all(from, to, image);
    /* The image of a paused sandbox stays at its place; incusd makes a separate snapshot of the
     * image. */
    return files_exist(from, OWNER) ? share(btrfs_subvolume_copy, from, snapshot, image) : -1;
}

/* --- deletion --- */

/* Leftovers that cannot be deleted now are deleted later by fcgi/host/helper/guard. */
int fork_image_delete(const char *snapshot)
{
    autofree char *image = fork_image_of(snapshot);
    autoclose int fd = image ? open(image, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0)
        return -1;
    if (btrfs_subvolume_delete(snapshot) < 0) {
        fprintf(stderr, "ERROR: Could not destroy subvolume/snapshot: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    if (files_lock_within(fd, LOCK_MS) < 0 || btrfs_subvolume_delete(image) < 0)
        files_complain("cannot remove", image);
    return EXIT_SUCCESS;
}
