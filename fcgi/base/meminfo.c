/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/meminfo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

void meminfo_read(struct meminfo *memory)
{
    autofclose FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    *memory = (struct meminfo){0};
    const struct {
        const char *name;
        uint64_t *bytes;
    } lines[] = {
        {"MemTotal:", &memory->total},
        {"MemAvailable:", &memory->available},
        {"Cached:", &memory->cached},
    };
    while (file && fgets(line, sizeof line, file))
        for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
            if (str_starts_with(line, lines[i].name))
                *lines[i].bytes = strtoull(line + strlen(lines[i].name), NULL, 10) * 1024;
}
