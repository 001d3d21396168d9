/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/group_usage.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

#define GROUP      "lxc.payload."
#define LINE_SIZE  128
#define GROUPS_MAX 16384

/* --- files --- */

/* Find a number in a file. key NULL: the file has no other; else it is on a line with this key. */
static bool find_number(const char *folder, const char *group, const char *file, const char *key,
                        uint64_t *number)
{
    char line[LINE_SIZE];
    autofree char *path = xasprintf("%s/%s/%s", folder, group, file);
    autofclose FILE *in = fopen(path, "re");
    while (in && fgets(line, sizeof line, in)) {
        char *value = line;
        size_t length = key ? strlen(key) : 0;
        line[strcspn(line, "\n")] = '\0';
        if (key && (!str_starts_with(line, key) || line[length] != ' '))
            continue;
        if (key)
            value += length + 1;
        return str_parse_u64(value, 0, UINT64_MAX, number) == 0;
    }
    return false;
}

static bool read_unified(const char *root, const char *group, struct group_usage *usage)
{
    uint64_t cpu_us, used;
    if (!find_number(root, group, "cpu.stat", "usage_usec", &cpu_us) ||
        !find_number(root, group, "memory.current", NULL, &used) ||
        !find_number(root, group, "memory.stat", "file", &usage->cache_bytes))
        return false;
    find_number(root, group, "memory.events", "oom_kill", &usage->memory_kills);
    usage->cpu_ms = cpu_us / 1000;
    usage->memory_bytes = used > usage->cache_bytes ? used - usage->cache_bytes : 0;
    return true;
}

static bool read_single(const char *root, const char *group, struct group_usage *usage)
{
    autofree char *cpu = xasprintf("%s/cpuacct", root);
    autofree char *memory = xasprintf("%s/memory", root);
    uint64_t cpu_ns, used;
    if (!find_number(cpu, group, "cpuacct.usage", NULL, &cpu_ns) ||
        !find_number(memory, group, "memory.usage_in_bytes", NULL, &used) ||
        !find_number(memory, group, "memory.stat", "total_cache", &usage->cache_bytes))
        return false;
    find_number(memory, group, "memory.oom_control", "oom_kill", &usage->memory_kills);
    usage->cpu_ms = cpu_ns / 1000000;
    usage->memory_bytes = used > usage->cache_bytes ? used - usage->cache_bytes : 0;
    return true;
}

/* --- groups --- */

/* A group is lxc.payload.NAME, or lxc.payload.PROJECT_NAME; a name has no underscore. */
static const char *name_of(const char *group)
{
    const char *underscore = strrchr(group, '_');
    return underscore ? underscore + 1 : group + strlen(GROUP);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(name_of(*(char *const *)a), name_of(*(char *const *)b));
}

static char **list_groups(const char *folder, const char *after, size_t *count)
{
    char **groups = xcalloc(GROUPS_MAX, sizeof *groups);
    DIR *all = opendir(folder);
    *count = 0;
    for (const struct dirent *entry; all && *count < GROUPS_MAX && (entry = readdir(all));)
        if (str_starts_with(entry->d_name, GROUP) &&
            strlen(name_of(entry->d_name)) < GROUP_USAGE_NAME_SIZE &&
            strcmp(name_of(entry->d_name), after) > 0)
            groups[(*count)++] = xstrdup(entry->d_name);
    if (all)
        closedir(all);
    qsort(groups, *count, sizeof *groups, by_name);
    return groups;
}

unsigned group_usage_read(const char *root, const char *after,
                          struct group_usage list[GROUP_USAGE_PAGE],
                          char next[GROUP_USAGE_NAME_SIZE])
{
    autofree char *mark = xasprintf("%s/cgroup.controllers", root);
    bool unified = access(mark, F_OK) == 0;
    autofree char *folder = xasprintf("%s%s", root, unified ? "" : "/memory");
    unsigned used = 0;
    size_t count;
    char **groups = list_groups(folder, after, &count);
    next[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        if (i < GROUP_USAGE_PAGE) {
            struct group_usage *usage = &list[used];
            *usage = (struct group_usage){.cpu_ms = 0};
            snprintf(usage->name, sizeof usage->name, "%s", name_of(groups[i]));
            used += (unified ? read_unified : read_single)(root, groups[i], usage);
        }
        if (i == GROUP_USAGE_PAGE - 1 && count > GROUP_USAGE_PAGE)
            snprintf(next, GROUP_USAGE_NAME_SIZE, "%s", name_of(groups[i]));
        free(groups[i]);
    }
    free(groups);
    return used;
}
