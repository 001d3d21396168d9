/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/process/memory_kills.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define LINE "\noom_kill "

/* Of control groups v2 and v1; the sandbox sees its own group at the top. */
static const char *const files[] = {"/sys/fs/cgroup/memory.events",
                                    "/sys/fs/cgroup/memory/memory.oom_control"};

static bool read_count(const char *path, uint64_t *count)
{
    char text[512] = "\n";
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text + 1, sizeof text - 2);
    if (size < 0)
        return false;
    text[1 + size] = '\0';
    const char *line = strstr(text, LINE);
    return line && sscanf(line + strlen(LINE), "%" SCNu64, count) == 1;
}

uint64_t memory_kills(void)
{
    static uint64_t last, total;
    uint64_t now = 0;
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        if (read_count(files[i], &now))
            break;
    /* After a resume the kernel counts from 0 again. */
    total += now < last ? now : now - last;
    last = now;
    return total;
}
