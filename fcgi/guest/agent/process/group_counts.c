/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/process/group_counts.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define GROUP     "/sys/fs/cgroup/"
#define TEXT_SIZE 512

/* Of control groups v2 and v1; the sandbox sees its own group at the top. */
static const char *const memory_files[] = {GROUP "memory.events", GROUP "memory/memory.oom_control",
                                           NULL};
static const char *const process_files[] = {GROUP "pids.events", GROUP "pids/pids.events", NULL};
static const char *const limit_files[] = {GROUP "memory.max", GROUP "memory/memory.limit_in_bytes",
                                          NULL};

/* Read the number behind a word at the beginning of a line, from the first of the files that is
 * there. */
static bool read_number(const char *const *files, const char *word, uint64_t *number)
{
    char text[TEXT_SIZE] = "\n";
    for (; *files; files++) {
        autoclose int fd = open(*files, O_RDONLY | O_CLOEXEC);
        ssize_t size = fd < 0 ? -1 : read(fd, text + 1, sizeof text - 2);
        if (size < 0)
            continue;
        text[1 + size] = '\0';
        const char *line = strstr(text, word);
        return line && sscanf(line + strlen(word), "%" SCNu64, number) == 1;
    }
    return false;
}

struct total {
    uint64_t last, sum;
};

/* After a resume the kernel counts from 0 again. A file that cannot be read now, for example for
 * want of a descriptor, changes nothing. */
static uint64_t add_up(struct total *total, const char *const *files, const char *word)
{
    uint64_t now;
    if (!read_number(files, word, &now))
        return total->sum;
    total->sum += now < total->last ? now : now - total->last;
    total->last = now;
    return total->sum;
}

void group_counts_read(struct group_counts *counts)
{
    static struct total kills, refusals;
    counts->memory_kills = add_up(&kills, memory_files, "\noom_kill ");
    counts->refused_forks = add_up(&refusals, process_files, "\nmax ");
}

uint64_t group_memory_mb(void)
{
    uint64_t bytes = 0;
    read_number(limit_files, "\n", &bytes);
    return bytes >> 20;
}
