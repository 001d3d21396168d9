/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/launcher/incusd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

#define LIBRARY "/liblxc.so."

const char *incusd_program(void)
{
    static const char *const places[] = {
        "/usr/libexec/incus/incusd",
        "/opt/incus/bin/incusd",
        "/usr/lib/incus/incusd",
    };
    const char *named = getenv("SANDLOT_INCUSD");
    if (named && *named)
        return named;
    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return "incusd";
}

static FILE *open_of_daemon(const char *name)
{
    autofree char *path = xasprintf("/proc/%d/%s", (int)getppid(), name);
    return fopen(path, "re");
}

/* A line of /proc/PID/maps ends with the path, and with " (deleted)" when the file is deleted. */
char *incusd_library(void)
{
    autofclose FILE *maps = open_of_daemon("maps");
    autofree char *line = NULL;
    size_t size = 0;
    while (maps && getline(&line, &size, maps) >= 0) {
        char *path = strchr(line, '/');
        if (!path || !strstr(path, LIBRARY))
            continue;
        path[strcspn(path, "\n")] = '\0';
        return access(path, R_OK) == 0 ? xstrdup(path) : NULL;
    }
    return NULL;
}

void incusd_lend_environment(void)
{
    static const char *const names[] = {
        "PATH=", "SANDLOT_CRIU=", "SANDLOT_CRIU_LOG=", "SANDLOT_LAZY_PAGES="};
    autofclose FILE *words = open_of_daemon("environ");
    autofree char *word = NULL;
    size_t size = 0;
    while (words && getdelim(&word, &size, '\0', words) >= 0)
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
            if (str_starts_with(word, names[i]))
                putenv(xstrdup(word)); /* keeps the pointer */
}
