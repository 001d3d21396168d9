/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/team_note.h"

#include <string.h>
#include <unistd.h>

#include "base/mem.h"

struct tenant team_note_read(const char *folder, const char *name)
{
    const char *instance = strrchr(name, '_');
    autofree char *path = xasprintf("%s/%s", folder, instance ? instance + 1 : name);
    char text[TENANT_SIZE];
    struct tenant tenant = {0};
    ssize_t length = readlink(path, text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    tenant_parse(text, &tenant);
    return tenant;
}
