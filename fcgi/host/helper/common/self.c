/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/common/self.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

#define OWN_PROGRAM "/proc/self/exe"

const char *self_path(void)
{
    static char path[PATH_MAX];
    if (!path[0]) {
        ssize_t size = readlink(OWN_PROGRAM, path, sizeof path - 1);
        path[size < 0 ? 0 : size] = '\0';
    }
    return path;
}

char *self_beside(const char *name)
{
    const char *own = self_path(), *slash = strrchr(own, '/');
    return xasprintf("%.*s/%s", (int)(slash ? slash - own : 0), own, name);
}

/* Return whether a path is this program. The file may have been replaced since this process
 * started, so its name counts too. */
static bool is_own(const char *path)
{
    struct stat found, known;
    if (stat(path, &found) == 0 && stat(OWN_PROGRAM, &known) == 0 && found.st_dev == known.st_dev &&
        found.st_ino == known.st_ino)
        return true;
    autofree char *real = realpath(path, NULL);
    return real && str_ends_with(real, "/" SELF_NAME);
}

char *self_path_without(const char *path, const char *name)
{
    autofree char *parts = xstrdup(path);
    char *others = xstrdup(""), *rest = NULL;
    for (char *part = strtok_r(parts, ":", &rest); part; part = strtok_r(NULL, ":", &rest)) {
        autofree char *program = xasprintf("%s/%s", part, name);
        if (is_own(program))
            continue;
        char *longer = xasprintf("%s%s%s", others, *others ? ":" : "", part);
        free(others);
        others = longer;
    }
    return others;
}
