/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/criu_path.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

#define NAMED "SANDLOT_CRIU"

static const char *named(void)
{
    const char *path = getenv(NAMED);
    return path && *path ? path : NULL;
}

bool criu_path_tell_version(const char *root, char *const words[])
{
    if (!words[0] || !str_equal(words[0], "--version") || named())
        return false;
    autofree char *path = xasprintf("%s/version", root);
    autofree char *line = NULL;
    size_t size = 0;
    bool told = false;
    autofclose FILE *file = fopen(path, "re");
    while (file && getline(&line, &size, file) >= 0) {
        fputs(line, stdout);
        told = true;
    }
    return told;
}

/* Return the path of the first entry of a folder, by name, with this prefix and this part in its
 * name; the caller frees it. NULL: no such entry. */
static char *first_in(const char *folder, const char *prefix, const char *contained)
{
    autofree char *first = NULL;
    DIR *all = opendir(folder);
    for (const struct dirent *entry; all && (entry = readdir(all));) {
        const char *name = entry->d_name;
        if (!str_starts_with(name, prefix) || !strstr(name, contained) ||
            (first && strcmp(first, name) < 0))
            continue;
        free(first);
        first = xstrdup(name);
    }
    if (all)
        closedir(all);
    return first ? xasprintf("%s/%s", folder, first) : NULL;
}

/* Find the loader, which is in lib, lib32 or lib64, depending on the architecture. */
static char *loader_in(const char *root)
{
    static const char *const folders[] = {"lib", "lib32", "lib64"};
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        autofree char *folder = xasprintf("%s/usr/%s", root, folders[i]);
        char *loader = first_in(folder, "ld-linux", "");
        if (loader)
            return loader;
    }
    return NULL;
}

int criu_path_find(const char *root, const char *preloaded, struct words *criu)
{
    autofree char *program = xasprintf("%s/usr/sbin/criu", root);
    autofree char *folder = xasprintf("%s/usr/lib", root);
    bool preloads = access(preloaded, R_OK) == 0;
    if (named()) {
        if (preloads)
            setenv("LD_PRELOAD", preloaded, 1);
        words_add_copy(criu, named());
        return 0;
    }
    autofree char *loader = access(program, X_OK) == 0 ? loader_in(root) : NULL;
    if (!loader) {
        fprintf(stderr, "criu: there is no program at %s, and " NAMED " is not set\n", program);
        return -1;
    }
    autofree char *libraries = first_in(folder, "", "-linux-gnu");
    words_add_copy(criu, loader);
    words_add_copy(criu, "--library-path");
    words_add(criu, xasprintf("%s:%s", libraries ? libraries : folder, folder));
    if (preloads) {
        words_add_copy(criu, "--preload");
        words_add_copy(criu, preloaded);
    }
    words_add_copy(criu, program);
    return 0;
}
