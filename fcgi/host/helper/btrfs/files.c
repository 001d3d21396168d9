/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/btrfs/files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define LOCK_LOOK_MS 50

char *files_path(const char *folder, const char *name)
{
    return xasprintf("%s/%s", folder, name);
}

bool files_exist(const char *folder, const char *name)
{
    autofree char *path = files_path(folder, name);
    return access(path, F_OK) == 0;
}

char *files_read_line(const char *folder, const char *name)
{
    autofree char *path = files_path(folder, name);
    autofree char *line = NULL;
    size_t size = 0;
    autofclose FILE *file = fopen(path, "re");
    ssize_t length = file ? getline(&line, &size, file) : -1;
    /* A line without a line feed was cut off. */
    if (file && (length <= 0 || line[length - 1] != '\n'))
        errno = ENODATA;
    if (length <= 0 || line[length - 1] != '\n')
        return NULL;
    line[length - 1] = '\0';
    return steal_pointer(&line);
}

int files_write_line(const char *folder, const char *name, const char *line)
{
    autofree char *path = files_path(folder, name);
    FILE *file = fopen(path, "we");
    if (!file)
        return -1;
    bool written = fprintf(file, "%s\n", line) > 0;
    return fclose(file) == 0 && written ? 0 : -1;
}

int files_make_folder(const char *path, mode_t mode)
{
    if (mkdir(path, mode) < 0)
        return errno == EEXIST ? 0 : -1;
    return chmod(path, mode);
}

int files_lock_within(int fd, unsigned wait_ms)
{
    const struct timespec pause = {.tv_nsec = LOCK_LOOK_MS * 1000000L};
    for (unsigned waited = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; waited += LOCK_LOOK_MS) {
        if (errno != EWOULDBLOCK || waited >= wait_ms)
            return -1;
        nanosleep(&pause, NULL);
    }
    return 0;
}

int files_complain(const char *what, const char *path)
{
    fprintf(stderr, "btrfs: %s %s: %s\n", what, path, strerror(errno));
    return -1;
}
