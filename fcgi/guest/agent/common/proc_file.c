/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/common/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

char *proc_file_read(const char *path, size_t size)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = xcalloc(1, size);
    size_t used = 0;
    ssize_t got;
    while (fd >= 0 && used < size - 1 && (got = read(fd, text + used, size - 1 - used)) > 0)
        used += (size_t)got;
    return text;
}
