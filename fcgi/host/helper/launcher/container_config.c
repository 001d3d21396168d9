/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/launcher/container_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/sizing.h"
#include "base/str.h"

#define BLANKS " \t\n"
/* The value of lxc.group that the runtime driver writes for an instance that starts from a memory
 * image. */
#define GROUP_GOES_ON "sandlot-memory"

/* Decode fstab's escapes of separators: a backslash and three octal digits. */
static char *unescape(const char *text)
{
    char *out = xstrdup(text), *to = out;
    for (const char *from = text; *from; to++) {
        unsigned code;
        if (from[0] == '\\' && sscanf(from + 1, "%3o", &code) == 1 && code < 256 &&
            strspn(from + 1, "01234567") >= 3) {
            *to = (char)code;
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
    return out;
}

/* Read: source target type options …; type and options are optional. */
static int take_mount(struct container_config *config, char *value, struct error **err)
{
    char *rest = NULL;
    const char *source = strtok_r(value, BLANKS, &rest);
    const char *target = strtok_r(NULL, BLANKS, &rest);
    const char *type = strtok_r(NULL, BLANKS, &rest);
    const char *options = strtok_r(NULL, BLANKS, &rest);
    (void)type;
    if (!source || !target)
        return 0;
    if (config->mount_count == CONTAINER_MOUNTS_MAX)
        return error_set(err, ERR_CONFIG, "more than %d mounts", CONTAINER_MOUNTS_MAX);
    config->mounts[config->mount_count++] = (struct container_mount){
        .source = unescape(source),
        .target = unescape(target + strspn(target, "/")),
        .is_file = options && strstr(options, "create=file"),
    };
    return 0;
}

static void replace(char **place, const char *value)
{
    free(*place);
    *place = xstrdup(value);
}

/* Read lxc.net.<number>.link. */
static int take_link(struct container_config *config, const char *value, struct error **err)
{
    if (config->link_count == CONTAINER_LINKS_MAX)
        return error_set(err, ERR_CONFIG, "more than %d links", CONTAINER_LINKS_MAX);
    config->links[config->link_count++] = xstrdup(value);
    return 0;
}

static void take_weight(struct container_config *config, const char *value, bool unified)
{
    uint64_t weight;
    if (str_parse_u64(value, 0, UINT32_MAX, &weight) == 0)
        config->vcpus = cpu_of_weight(weight, unified);
}

static int take_line(struct container_config *config, char *line, struct error **err)
{
    char *value = strchr(line, '=');
    if (!value)
        return 0;
    *value++ = '\0';
    value += strspn(value, BLANKS);
    value[strcspn(value, "\n")] = '\0';
    line[strcspn(line, BLANKS)] = '\0';
    if (str_equal(line, "lxc.mount.entry"))
        return take_mount(config, value, err);
    if (str_starts_with(line, "lxc.net.") && str_ends_with(line, ".link"))
        return take_link(config, value, err);
    if (str_equal(line, "lxc.rootfs.path"))
        replace(&config->rootfs, str_starts_with(value, "dir:") ? value + 4 : value);
    else if (str_equal(line, "lxc.log.file"))
        replace(&config->log_file, value);
    else if (str_equal(line, "lxc.cgroup.cpu.shares"))
        take_weight(config, value, false);
    else if (str_equal(line, "lxc.cgroup2.cpu.weight"))
        take_weight(config, value, true);
    else if (str_equal(line, "lxc.group") && str_equal(value, GROUP_GOES_ON))
        config->goes_on = true;
    return 0;
}

int container_config_read(const char *path, struct container_config *config, struct error **err)
{
    autofree char *line = NULL;
    size_t size = 0;
    int result = 0;
    *config = (struct container_config){0};
    autofclose FILE *file = fopen(path, "re");
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read configuration %s", path);
    const char *slash = strrchr(path, '/');
    config->run_folder = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");
    while (result == 0 && getline(&line, &size, file) >= 0)
        result = take_line(config, line, err);
    return result;
}

void container_config_deinit(struct container_config *config)
{
    for (unsigned i = 0; i < config->mount_count; i++) {
        free(config->mounts[i].source);
        free(config->mounts[i].target);
    }
    for (unsigned i = 0; i < config->link_count; i++)
        free(config->links[i]);
    free(config->rootfs);
    free(config->log_file);
    free(config->run_folder);
    *config = (struct container_config){0};
}
