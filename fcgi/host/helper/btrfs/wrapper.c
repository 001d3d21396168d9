/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * btrfs ARGUMENT…: wrapper of btrfs in incusd's PATH.
 *
 * - A sandbox with a completely full disk can start again (size.h).
 * - All sandboxes of a fork share one memory image (fork_image.h).
 * - Simple questions are answered by one ioctl (subvolume.h): each start calls btrfs eight times,
 *   and a fork twenty times, while the user waits.
 * - A create takes a copy that was made ahead of time (spare.h).
 * - A move waits less often for the disk (transfer.h), and sends only data that the other server
 *   does not have (parent.h).
 *
 * All other calls are passed to the real btrfs.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "helper/btrfs/btrfs_call.h"
#include "helper/btrfs/fork_image.h"
#include "helper/btrfs/parent.h"
#include "helper/btrfs/pool.h"
#include "helper/btrfs/real_btrfs.h"
#include "helper/btrfs/size.h"
#include "helper/btrfs/spare.h"
#include "helper/btrfs/subvolume.h"
#include "helper/btrfs/transfer.h"
#include "helper/common/run.h"
#include "helper/helper.h"

/* Skip `property set … ro true` for the snapshot of a fork. Nothing writes to it. Sealing would
 * write out all dirty data of the file system while the fork waits. */
static int seal(const char *snapshot)
{
    autofree char *image = fork_image_of(snapshot);
    return image ? EXIT_SUCCESS : -1;
}

/* Copy a source for a create, or for the warm pool. */
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

/* Handle a call. Returns the exit status, or -1 to pass the call to the real btrfs. */
static int act(const struct btrfs_call *asked)
{
    switch (asked->kind) {
    case BTRFS_CALL_SNAPSHOT:
        return copy(asked->from, asked->path);
    case BTRFS_CALL_DELETE:
        return remove_subvolume(asked->path);
    case BTRFS_CALL_SIZE:
        return size_set(asked);
    case BTRFS_CALL_GROUP:
        return subvolume_tell_group(asked->path);
    case BTRFS_CALL_SEAL:
        return seal(asked->path);
    case BTRFS_CALL_UNSEAL:
        return unseal(asked->path);
    case BTRFS_CALL_SEALED:
        return subvolume_tell_sealed(asked->path);
    case BTRFS_CALL_SEND:
        return transfer_send(asked->path);
    case BTRFS_CALL_RECEIVE:
        transfer_prepare_receive(asked->path);
        break;
    case BTRFS_CALL_OTHER:
        break;
    }
    return -1;
}

int helper_btrfs(int argc, char **argv)
{
    struct btrfs_call asked;
    (void)argc;
    if (real_btrfs_prepare() < 0)
        return RUN_CANNOT;
    btrfs_call_read(argv + 1, &asked);
    int status = act(&asked);
    return status < 0 ? run_become("btrfs", argv) : status;
}
