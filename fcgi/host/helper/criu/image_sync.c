/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/image_sync.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Folders of the pool, from an image. The process that waits has locked the first one, the process
 * that writes the second one. */
#define WAITING "../.."
#define WRITING "../../../containers-snapshots"

/* incusd waits for the end of all writers of the caller's output. */
static void keep_only(int waiting, int writing)
{
    unsigned low = (unsigned)(waiting < writing ? waiting : writing);
    unsigned high = (unsigned)(waiting < writing ? writing : waiting);
    if (low > 0)
        syscall(SYS_close_range, 0, low - 1, 0);
    if (high > low + 1)
        syscall(SYS_close_range, low + 1, high - 1, 0);
    syscall(SYS_close_range, high + 1, ~0U, 0);
}

static void write_pool(int waiting, int writing)
{
    setsid();
    keep_only(waiting, writing);
    if (flock(writing, LOCK_EX) < 0)
        return;
    flock(waiting, LOCK_UN); /* a later image needs another process from here on */
    syncfs(writing);
}

void image_sync(const char *folder)
{
    autoclose int image = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (image < 0)
        return;
    autoclose int waiting = openat(image, WAITING, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autoclose int writing = openat(image, WRITING, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (waiting < 0 || writing < 0 || flock(waiting, LOCK_EX | LOCK_NB) < 0)
        return;
    /* The locks belong to both processes until this one ends. */
    pid_t child = fork();
    if (child < 0)
        perror("sandlot-criu: cannot start the process that writes a memory image to the disk");
    if (child == 0) {
        write_pool(waiting, writing);
        _exit(0);
    }
}
