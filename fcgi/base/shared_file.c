/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/shared_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static int lengthen(int fd, size_t size)
{
    struct stat stat;
    if (fstat(fd, &stat) < 0)
        return -1;
    return (size_t)stat.st_size >= size ? 0 : ftruncate(fd, (off_t)size);
}

int shared_file_map(const char *path, size_t size, int *fd, void **map, struct error **err)
{
    /* The worker pools have users of their own and share the group of the folder. */
    mode_t mask = umask(0007);
    autoclose int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0660);
    umask(mask);
    if (file < 0 || lengthen(file, size) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot open %s", path);
    *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (*map == MAP_FAILED)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot map %s", path);
    if (fd)
        *fd = steal_fd(&file);
    return 0;
}
