/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "agent/files/files.h"

#define COPY_MAX   ((size_t)64 << 20) /* in one call */
#define BLOCK_SIZE (128 * 1024)

/* Bytes through this process, where the kernel cannot pass them on by itself. */
static ssize_t copy_block(int from, int to)
{
    static char block[BLOCK_SIZE];
    ssize_t size = read(from, block, sizeof block);
    for (ssize_t at = 0; at < size;) {
        ssize_t written = write(to, block + at, (size_t)(size - at));
        if (written < 0 && errno != EINTR)
            return -1;
        at += written > 0 ? written : 0;
    }
    return size;
}

int files_copy(int from, int to)
{
    bool by_kernel = true;
    for (;;) {
        ssize_t size =
            by_kernel ? copy_file_range(from, NULL, to, NULL, COPY_MAX, 0) : copy_block(from, to);
        /* Also without a result: files of /proc have no length. */
        if (by_kernel && (!size || (size < 0 && errno != EINTR && errno != ENOSPC &&
                                    errno != EDQUOT && errno != EIO))) {
            by_kernel = false;
            continue;
        }
        if (!size)
            return 0;
        if (size < 0 && errno != EINTR)
            return -1;
    }
}
