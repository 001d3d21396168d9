/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * btrfs ARGUMENT…: stands before btrfs in incusd's PATH, so that a sandbox which has filled its
 * disk to the last block can be started again (size.h), and so that what is made of a fork shares
 * one image of its memory (fork_image.h).
 *
 * Each start of a sandbox calls btrfs eight times, and a fork twenty times, while somebody waits:
 * what is a question of one ioctl is asked of the kernel here, too (subvolume.h), and what a create
 * copies has been copied before (spare.h). What goes to another server waits for the disk less
 * often (transfer.h), and only what the other does not have goes there (parent.h). All else is left
 * to the btrfs behind this one.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "btrfs/asked.h"
#include "btrfs/fork_image.h"
#include "btrfs/next.h"
#include "btrfs/parent.h"
#include "btrfs/pool.h"
#include "btrfs/size.h"
#include "btrfs/spare.h"
#include "btrfs/subvolume.h"
#include "btrfs/transfer.h"

#define CANNOT_RUN 127

/* The folder of this program; the caller frees it. NULL: the machine has no /proc. */
static char *own_folder(void)
{
    char path[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    path[size < 0 ? 0 : size] = '\0';
    char *slash = strrchr(path, '/');
    return slash ? xstrndup(path, (size_t)(slash - path)) : NULL;
}

/* Beside this program, or beside its folder. */
static char *guard_of(const char *own)
{
    char *guard = xasprintf("%s/pool-guard", own);
    if (access(guard, X_OK) == 0)
        return guard;
    free(guard);
    return xasprintf("%s/../pool-guard", own);
}

/* Nobody writes to a snapshot that lives as long as a fork, and to make it read-only commits all
 * that the file system has not written yet while the fork waits. */
static int seal(const char *snapshot)
{
    autofree char *image = fork_image_of(snapshot);
    return image ? EXIT_SUCCESS : -1;
}

/* For a create, or for the pool of waiting instances. */
static int copy_source(const char *source, const char *to)
{
    int status = spare_take(source, to);
    if (status < 0)
        status = subvolume_copy(source, to);
    spare_make_later(source, false);
    return status;
}

static int copy(const char *from, const char *to)
{
    int status = fork_image_snapshot(from, to);
    if (status < 0)
        status = transfer_snapshot(from, to);
    if (status >= 0)
        return status;
    if (spare_is_for(from) && pool_is_instance(to))
        return copy_source(from, to);
    status = subvolume_copy(from, to);
    if (status >= 0 && spare_is_for(to))
        spare_make_later(to, true);
    return status;
}

static int unseal(const char *path)
{
    int status = transfer_unseal(path);
    return status < 0 ? subvolume_unseal(path) : status;
}

static int remove_subvolume(const char *path)
{
    int status = fork_image_delete(path);
    parent_remove(path);
    spare_remove(path);
    return status < 0 ? subvolume_delete(path) : status;
}

static int set_size(const struct asked *asked, const char *own)
{
    autofree char *guard = guard_of(own);
    return size_set(asked, guard);
}

/* The exit status; -1: it is not answered here. */
static int act(const struct asked *asked, const char *own)
{
    switch (asked->kind) {
    case ASKED_SNAPSHOT:
        return copy(asked->from, asked->path);
    case ASKED_DELETE:
        return remove_subvolume(asked->path);
    case ASKED_SIZE:
        return set_size(asked, own);
    case ASKED_GROUP:
        return subvolume_tell_group(asked->path);
    case ASKED_SEAL:
        return seal(asked->path);
    case ASKED_UNSEAL:
        return unseal(asked->path);
    case ASKED_SEALED:
        return subvolume_tell_sealed(asked->path);
    case ASKED_SEND:
        return transfer_send(asked->path);
    case ASKED_RECEIVE:
        transfer_prepare_receive(asked->path);
        break;
    case ASKED_OTHER:
        break;
    }
    return -1;
}

int main(int argc, char **argv)
{
    struct asked asked;
    autofree char *own = own_folder();
    if (!own || argc < 1) {
        fputs("btrfs: the wrapper does not know its folder\n", stderr);
        return CANNOT_RUN;
    }
    if (next_prepare(own) < 0)
        return CANNOT_RUN;
    asked_read(argv + 1, &asked);
    int status = act(&asked, own);
    return status < 0 ? next_run(argv) : status;
}
