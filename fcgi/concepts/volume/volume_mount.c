/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "volume/volume_mount.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "http/schema.h"

#define COMPONENT_MAX 255

/* Folders that cannot be mount points, with all folders below them. */
static const char *const forbidden_trees[] = {"/proc", "/sys", "/dev", "/run", "/usr/lib/sandlot"};

/* Folders of the system: a sandbox with a volume in their place could not start. */
static const char *const forbidden[] = {
    "/",       "/bin", "/sbin", "/lib",     "/lib32",    "/lib64",
    "/libx32", "/etc", "/usr",  "/usr/bin", "/usr/sbin", "/usr/lib",
};

static bool is_below(const char *path, const char *tree)
{
    size_t length = strlen(tree);
    return !strncmp(path, tree, length) && (!path[length] || path[length] == '/');
}

/* Return the fault of a path, or NULL. */
static const char *fault_of_path(const char *path)
{
    if (path[0] != '/')
        return "The path of a mount must begin with a slash.";
    if (strlen(path) > VOLUME_MOUNT_PATH_MAX)
        return "The path of a mount has at most 1024 bytes.";
    for (const char *c = path; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return "The path of a mount cannot have control characters.";
    for (const char *at = path; *at && path[1];) {
        size_t length = strcspn(++at, "/");
        if (!length || (length == 1 && at[0] == '.') || (length == 2 && !strncmp(at, "..", 2)))
            return "The path of a mount cannot have an empty part, . or .., or a slash at its end.";
        if (length > COMPONENT_MAX)
            return "A name in the path of a mount has at most 255 bytes.";
        at += length;
    }
    if (str_equal(path, VOLUME_BUILD_CACHE_PATH)) /* volume_mounts_lock() refuses requests */
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++)
        if (str_equal(path, forbidden[i]))
            return "No volume can be mounted there, because the sandbox needs its own files there.";
    for (size_t i = 0; i < ARRAY_SIZE(forbidden_trees); i++)
        if (is_below(path, forbidden_trees[i]))
            return "No volume can be mounted there, because the sandbox needs its own files there.";
    return NULL;
}

static int refuse(const char *path, const char *why, struct error **err)
{
    autofree char *pointer = schema_pointer("/volume_mounts", path);
    return error_set_field(err, ERR_INVALID_REQUEST, pointer, "%s", why);
}

static int by_path(const void *a, const void *b)
{
    const struct volume_mount *left = a, *right = b;
    return strcmp(left->path, right->path);
}

int volume_mounts_read(const json_t *object, struct volume_mount mounts[VOLUME_MOUNTS_MAX],
                       unsigned *count, struct error **err)
{
    const char *path;
    json_t *name;
    *count = 0;
    json_object_foreach ((json_t *)object, path, name) {
        const char *why = fault_of_path(path);
        if (!why && *count == VOLUME_MOUNTS_MAX)
            why = "A sandbox mounts at most 16 volumes.";
        for (unsigned i = 0; !why && i < *count; i++)
            if (is_below(path, mounts[i].path) || is_below(mounts[i].path, path))
                why = "A mount cannot be inside another mount.";
        if (why)
            return refuse(path, why, err);
        mounts[(*count)++] = (struct volume_mount){.path = path, .name = json_string_value(name)};
    }
    if (*count)
        qsort(mounts, *count, sizeof *mounts, by_path);
    return 0;
}
