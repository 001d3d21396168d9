/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/common/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/common/users.h"
#include "base/mem.h"

/* Rewrite an absolute path in place without empty, "." and ".." parts. */
static void clean(char *path)
{
    char *out = path;
    for (const char *part = path; *part;) {
        part += strspn(part, "/");
        size_t length = strcspn(part, "/");
        if (length == 2 && part[0] == '.' && part[1] == '.') {
            while (out > path && *--out != '/')
                ;
        } else if (length && !(length == 1 && part[0] == '.')) {
            *out++ = '/';
            memmove(out, part, length);
            out += length;
        }
        part += length;
    }
    if (out == path)
        *out++ = '/';
    *out = '\0';
}

int paths_resolve(const char *text, const struct user *user, char **path, struct rpc_error *error)
{
    bool in_home = *text != '/';
    if (*text == '~') {
        if (text[1] && text[1] != '/')
            return rpc_error_set(error, RPC_INVALID_ARGUMENT,
                                 "'~' can only mean the user's own home folder");
        text++;
    }
    if (strlen(text) + (in_home ? strlen(user->home) + 1 : 0) > PATH_LENGTH_MAX)
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "the path is longer than %d bytes",
                             PATH_LENGTH_MAX);
    *path = in_home ? xasprintf("%s/%s", user->home, text) : xstrdup(text);
    clean(*path);
    return 0;
}

const char *paths_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static int make_directory(const char *path, const struct user *user, struct rpc_error *error)
{
    if (mkdir(path, 0755) < 0) {
        struct stat status;
        int errnum = errno;
        if (errnum == EEXIST && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
            return 0;
        if (errnum == EEXIST)
            return rpc_error_set(error, RPC_INVALID_ARGUMENT, "not a directory: '%s'", path);
        return rpc_error_set_errno(error, errnum, "cannot create directory '%s'", path);
    }
    if (chown(path, user->uid, user->gid) < 0)
        return rpc_error_set_errno(error, errno, "cannot change the owner of directory '%s'", path);
    return 0;
}

int paths_make_directories(const char *path, const struct user *user, struct rpc_error *error)
{
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return 0;
    autofree char *prefix = xstrdup(path);
    for (char *slash = prefix; *slash; slash++) {
        slash += strspn(slash, "/");
        slash += strcspn(slash, "/");
        char after = *slash;
        *slash = '\0';
        int rc = make_directory(prefix, user, error);
        *slash = after;
        if (rc < 0)
            return -1;
        if (!after)
            break;
    }
    return 0;
}

int paths_make_parents(const char *path, const struct user *user, struct rpc_error *error)
{
    autofree char *parent = xstrdup(path);
    char *slash = strrchr(parent, '/');
    if (!slash || slash == parent)
        return 0;
    *slash = '\0';
    return paths_make_directories(parent, user, error);
}
