/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/records.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"

/* Numbers are little-endian. */
#define FILE_MOST  (1 << 30)
#define MAGIC_SIZE 8
#define WORD       4

static void change_all(struct message file, void (*change)(struct message record))
{
    while (file.end - file.at >= WORD) {
        uint32_t size = file.at[0] | (uint32_t)file.at[1] << 8 | (uint32_t)file.at[2] << 16 |
                        (uint32_t)file.at[3] << 24;
        file.at += WORD;
        if (size > (size_t)(file.end - file.at))
            return;
        change((struct message){file.at, file.at + size});
        file.at += size;
    }
}

void records_change(const char *path, void (*change)(struct message record))
{
    struct stat found;
    autoclose int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &found) < 0 || found.st_size <= MAGIC_SIZE || found.st_size > FILE_MOST)
        return;
    size_t size = (size_t)found.st_size;
    uint8_t *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
        fprintf(stderr, "sandlot-criu: cannot read %s: %s\n", path, strerror(errno));
        return;
    }
    change_all((struct message){data + MAGIC_SIZE, data + size}, change);
    munmap(data, size);
}
