/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/team_note.h"

#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define NUMBER_SIZE 32

uint64_t team_note_read(const char *folder, const char *name)
{
    const char *instance = strrchr(name, '_');
    autofree char *path = xasprintf("%s/%s", folder, instance ? instance + 1 : name);
    char text[NUMBER_SIZE];
    uint64_t team;
    ssize_t length = readlink(path, text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    return str_parse_u64(text, 1, UINT64_MAX, &team) == 0 ? team : 0;
}
