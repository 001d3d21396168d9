/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/common/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

bool regular_file_read(const char *path, char *text, size_t max, size_t *size)
{
    struct stat status;
    autoclose int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    *size = 0;
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size > (off_t)max)
        return false;
    for (ssize_t got; (got = read(fd, text + *size, max - *size)) > 0;)
        *size += (size_t)got;
    return true;
}
