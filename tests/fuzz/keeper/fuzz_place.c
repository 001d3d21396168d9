/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths into a volume that has links to the outside: no path may reach a file outside. */
#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "keeper/place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/fuzz-place-XXXXXX";
static int volume = -1;

static void remove_folder(void)
{
    static const char *const names[] = {"/v/d/f", "/v/d", "/v/up", "/v/root", "/v/self", "/v", ""};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        autofree char *path = xasprintf("%s%s", folder, names[i]);
        remove(path);
    }
}

/* Folders d, a file in it, and links to the parent, to / and to themselves. */
static void make_volume(void)
{
    if (!mkdtemp(folder))
        abort();
    atexit(remove_folder);
    autofree char *root = xasprintf("%s/v", folder);
    if (mkdir(root, 0755) < 0 || (volume = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0 ||
        mkdirat(volume, "d", 0755) < 0 || symlinkat("..", volume, "up") < 0 ||
        symlinkat("/", volume, "root") < 0 || symlinkat("self", volume, "self") < 0)
        abort();
    int file = openat(volume, "d/f", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    if (file < 0)
        abort();
    close(file);
}

/* Where a descriptor really is. */
static void check_inside(int fd)
{
    char link[40], path[PATH_MAX];
    autofree char *root = xasprintf("%s/v", folder);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    assert(length > 0);
    path[length] = '\0';
    assert(!strncmp(path, root, strlen(root)) &&
           (path[strlen(root)] == '\0' || path[strlen(root)] == '/'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct keeper_error error;
    struct stat status;
    const char *name;
    if (volume < 0)
        make_volume();
    if (size > 4096)
        return 0;
    autofree char *path = xstrndup((const char *)data, size);
    int fds[] = {
        place_open(volume, path, 0),
        place_open_parent(volume, path, false, &name, &error),
        place_open_file(volume, path, &status, &error),
        place_open_directory(volume, path, &error),
    };
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        if (fds[i] < 0)
            continue;
        check_inside(fds[i]);
        close(fds[i]);
    }
    return 0;
}
