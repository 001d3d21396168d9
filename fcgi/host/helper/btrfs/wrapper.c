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
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "helper/btrfs/asked.h"
#include "helper/btrfs/fork_image.h"
#include "helper/btrfs/next.h"
#include "helper/btrfs/parent.h"
#include "helper/btrfs/pool.h"
#include "helper/btrfs/size.h"
#include "helper/btrfs/spare.h"
#include "helper/btrfs/subvolume.h"
#include "helper/btrfs/transfer.h"
#include "helper/common/run.h"
#include "helper/helper.h"

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

/* The exit status; -1: it is not answered here. */
static int act(const struct asked *asked)
{
    switch (asked->kind) {
    case ASKED_SNAPSHOT:
        return copy(asked->from, asked->path);
    case ASKED_DELETE:
        return remove_subvolume(asked->path);
    case ASKED_SIZE:
        return size_set(asked);
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

int helper_btrfs(int argc, char **argv)
{
    struct asked asked;
    (void)argc;
    if (next_prepare() < 0)
        return RUN_CANNOT;
    asked_read(argv + 1, &asked);
    int status = act(&asked);
    return status < 0 ? run_become("btrfs", argv) : status;
}
