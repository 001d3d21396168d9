/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "btrfs/next.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

/* In the environment of all that this program calls. */
#define CALLED     "SANDLOT_BTRFS_WRAPPER"

#define CANNOT_RUN 127

static bool is_same(const char *path, const char *folder, const struct stat *known)
{
    struct stat found;
    if (str_equal(path, folder))
        return true;
    return known->st_ino && stat(path, &found) == 0 && found.st_dev == known->st_dev &&
           found.st_ino == known->st_ino;
}

char *next_path(const char *path, const char *folder)
{
    struct stat known;
    autofree char *parts = xstrdup(path);
    char *others = xstrdup(""), *rest = NULL;
    if (stat(folder, &known) < 0)
        known.st_ino = 0;
    for (char *part = strtok_r(parts, ":", &rest); part; part = strtok_r(NULL, ":", &rest)) {
        if (is_same(part, folder, &known))
            continue;
        char *longer = xasprintf("%s%s%s", others, *others ? ":" : "", part);
        free(others);
        others = longer;
    }
    return others;
}

int next_prepare(const char *folder)
{
    const char *called = getenv(CALLED), *path = getenv("PATH");
    if (called && *called) {
        fprintf(stderr, "btrfs: only the wrapper in %s is in PATH\n", folder);
        return -1;
    }
    autofree char *others = next_path(path ? path : "", folder);
    setenv(CALLED, "1", 1);
    setenv("PATH", others, 1);
    return 0;
}

int next_run(char *argv[])
{
    execvp("btrfs", argv);
    fprintf(stderr, "btrfs: it cannot be run: %s\n", strerror(errno));
    return CANNOT_RUN;
}
