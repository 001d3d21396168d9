/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/prepare/stale_link.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "helper/common/run.h"

#define LINKS_MAX   (4 << 20)
#define SUFFIX_SIZE 13

/* 12: sl0123456789abc@veth01234567: <…> */
char *stale_link_in(const char *line, const char *prefix)
{
    const char *name = line + strspn(line, "0123456789");
    if (name == line || !str_starts_with(name, ": "))
        return NULL;
    name += 2;
    size_t length = strlen(prefix);
    if (!str_starts_with(name, prefix) ||
        strspn(name + length, "abcdefghijklmnopqrstuvwxyz0123456789") != SUFFIX_SIZE)
        return NULL;
    length += SUFFIX_SIZE;
    /* ip names the other end, or shows its number (@if7) when it is not on this host. */
    return str_starts_with(name + length, "@veth") ? xstrndup(name, length) : NULL;
}

static void remove_link(char *link)
{
    char *const command[] = {(char *)"ip", (char *)"link", (char *)"delete", link, NULL};
    printf("incusd-prepare: removing %s, which belongs to no sandbox\n", link);
    fflush(stdout);
    run_wait(command, false);
}

void stale_links_remove(const char *prefix)
{
    char *const command[] = {
        (char *)"ip",   (char *)"-o", (char *)"link", (char *)"show", (char *)"type",
        (char *)"veth", NULL};
    autofree char *links = run_read(command, LINKS_MAX);
    char *rest = NULL;
    for (char *line = links ? strtok_r(links, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        autofree char *link = stale_link_in(line, prefix);
        if (link)
            remove_link(link);
    }
}
