/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/prepare/lxc_config.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

#define COMMON   "common.conf.d"
#define END_HOOK "/lxc.reboot.hook"

/* Return the value of a line `KEY = VALUE`, without the blanks around it; the caller frees it.
 * NULL: the line has another key. */
static char *value_of(const char *line, const char *key)
{
    if (!str_starts_with(line, key))
        return NULL;
    line += strlen(key);
    line += strspn(line, " ");
    if (*line++ != '=')
        return NULL;
    line += strspn(line, " ");
    size_t length = strcspn(line, "\n");
    while (length && line[length - 1] == ' ')
        length--;
    return xstrndup(line, length);
}

char *lxc_config_line(const char *line, const char *mount_hook)
{
    autofree char *end = value_of(line, "lxc.hook.post-stop");
    autofree char *mount = value_of(line, "lxc.hook.mount");
    if (end && str_ends_with(end, END_HOOK))
        return NULL;
    if (mount && str_equal(mount, LXC_CONFIG_MOUNT_HOOK))
        return xasprintf("lxc.hook.mount = %s\n", mount_hook);
    return xstrdup(line);
}

static int copy_file(const char *from, const char *to, const char *mount_hook)
{
    autofree char *line = NULL;
    size_t size = 0;
    autofclose FILE *in = fopen(from, "re");
    FILE *out = in ? fopen(to, "we") : NULL;
    if (!out)
        return -1;
    while (getline(&line, &size, in) >= 0) {
        autofree char *changed = lxc_config_line(line, mount_hook);
        if (changed)
            fputs(changed, out);
    }
    return fclose(out) == 0 && !ferror(in) ? 0 : -1;
}

static bool is_file(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISREG(found.st_mode);
}

/* Copy the files whose names have a dot and end in suffix; "": any end. */
static int copy_folder(const char *from, const char *to, const char *suffix, const char *mount_hook)
{
    int result = 0;
    DIR *all = opendir(from);
    if (!all)
        return errno == ENOENT ? 0 : -1;
    for (const struct dirent *entry; result == 0 && (entry = readdir(all));) {
        const char *name = entry->d_name;
        autofree char *source = xasprintf("%s/%s", from, name);
        autofree char *target = xasprintf("%s/%s", to, name);
        if (name[0] != '.' && strchr(name, '.') && str_ends_with(name, suffix) && is_file(source))
            result = copy_file(source, target, mount_hook);
    }
    closedir(all);
    return result;
}

/* Delete the files of an earlier copy. */
static void clear_folder(const char *folder)
{
    DIR *all = opendir(folder);
    for (const struct dirent *entry; all && (entry = readdir(all));) {
        autofree char *path = xasprintf("%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.' && str_ends_with(entry->d_name, ".conf"))
            unlink(path);
    }
    if (all)
        closedir(all);
}

static int make_folder(const char *path)
{
    return mkdir(path, 0755) < 0 && errno != EEXIST ? -1 : 0;
}

int lxc_config_copy(const char *from, const char *to, const char *mount_hook)
{
    autofree char *parent = xstrdup(to);
    autofree char *common = xasprintf("%s/" COMMON, to);
    autofree char *common_from = xasprintf("%s/" COMMON, from);
    char *slash = strrchr(parent, '/');
    if (slash && slash > parent) {
        *slash = '\0';
        make_folder(parent);
    }
    if (make_folder(to) < 0 || make_folder(common) < 0)
        return -1;
    clear_folder(common);
    return copy_folder(from, to, "", mount_hook) < 0
               ? -1
               : copy_folder(common_from, common, ".conf", mount_hook);
}
