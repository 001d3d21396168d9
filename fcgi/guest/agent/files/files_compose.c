/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POST /files/compose: several files become one, and are gone afterwards: how a client that
 * uploaded a large file in pieces puts them together. Until the end the destination is unchanged,
 * and the sources stay when a step fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/common/paths.h"
#include "agent/common/proto.h"
#include "agent/files/files.h"
#include "agent/files/files_routes.h"
#include "agent/framework/worker.h"
#include "base/mem.h"

#define SOURCES_MAX 10000

struct compose {
    char **sources;
    size_t source_count;
    char *destination;
    struct user user;
};

static void compose_deinit(struct compose *compose)
{
    for (size_t i = 0; i < compose->source_count; i++)
        free(compose->sources[i]);
    free(compose->sources);
    free(compose->destination);
    user_deinit(&compose->user);
}
#define compose_auto __attribute__((cleanup(compose_deinit))) struct compose

/* --- the copy: in a worker --- */

static int append(const char *source, int to, struct rpc_error *error)
{
    autoclose int from = open(source, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (from < 0)
        return rpc_error_set_errno(error, errno, "cannot open '%s'", source);
    if (files_copy(from, to) < 0)
        return rpc_error_set_errno(error, errno, "cannot write the contents of '%s'", source);
    return 0;
}

/* A file without a name, which vanishes by itself when the worker is ended; where the file system
 * has no such thing, one with the temporary name. */
static int open_result(const struct compose *compose, const char *temporary, bool *named)
{
    autofree char *folder = xstrdup(compose->destination);
    char *slash = strrchr(folder, '/');
    slash[slash == folder] = '\0';
    *named = false;
    int fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0644);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    *named = true;
    return open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
}

static int give_name(int fd, bool named, const char *temporary, const char *destination)
{
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    if (!named && linkat(AT_FDCWD, self, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) < 0)
        return -1;
    return rename(temporary, destination);
}

static int write_result(const struct compose *compose, const char *temporary,
                        struct rpc_error *error)
{
    bool named;
    autoclose int fd = open_result(compose, temporary, &named);
    if (fd < 0 || fchown(fd, compose->user.uid, compose->user.gid) < 0)
        return rpc_error_set_errno(error, errno, "cannot write '%s'", compose->destination);
    for (size_t i = 0; i < compose->source_count; i++)
        if (append(compose->sources[i], fd, error) < 0)
            return -1;
    if (give_name(fd, named, temporary, compose->destination) < 0)
        return rpc_error_set_errno(error, errno, "cannot write '%s'", compose->destination);
    return 0;
}

static int work(const void *context, struct buffer *answer, struct rpc_error *error)
{
    const struct compose *compose = context;
    unsigned long long number = 0;
    if (getrandom(&number, sizeof number, 0) < 0)
        return rpc_error_set_errno(error, errno, "cannot write '%s'", compose->destination);
    autofree char *temporary = xasprintf("%s.%016llx.part", compose->destination, number);
    if (write_result(compose, temporary, error) < 0) {
        unlink(temporary);
        return -1;
    }
    for (size_t i = 0; i < compose->source_count; i++)
        unlink(compose->sources[i]);
    json_auto_t *json = json_pack("{s:s, s:s, s:s}", "name", paths_base(compose->destination),
                                  "path", compose->destination, "type", "file");
    autofree char *text = json_dumps(json, JSON_COMPACT);
    return buffer_append_string(answer, text);
}

/* --- the request --- */

static int check_source(const struct compose *compose, const char *path, struct rpc_error *error)
{
    struct stat status;
    if (!strcmp(path, compose->destination))
        return rpc_error_set(error, RPC_INVALID_ARGUMENT,
                             "'%s' is both a source and the destination", path);
    if (stat(path, &status) < 0)
        return rpc_error_set_errno(error, errno, "cannot open '%s'", path);
    if (!S_ISREG(status.st_mode))
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "'%s' is not a regular file", path);
    return 0;
}

static int read_sources(struct compose *compose, const json_t *paths, struct rpc_error *error)
{
    size_t count = json_array_size(paths);
    if (!count || count > SOURCES_MAX)
        return rpc_error_set_field(error, "/source_paths", "source_paths must name 1 to %d files",
                                   SOURCES_MAX);
    compose->sources = xcalloc(count, sizeof *compose->sources);
    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(paths, i));
        if (!text)
            return rpc_error_set_field(error, "/source_paths", "source_paths must be strings");
        if (paths_resolve(text, &compose->user, &compose->sources[i], error) < 0)
            return -1;
        compose->source_count++;
        if (check_source(compose, compose->sources[i], error) < 0)
            return -1;
    }
    return 0;
}

static int read_body(const struct request *request, const json_t *body, struct compose *compose,
                     struct rpc_error *error)
{
    static const char *const names[] = {"source_paths", "sourcePaths", "destination", "username",
                                        NULL};
    const struct agent *agent = request->agent;
    const char *name, *destination;
    const json_t *paths;
    struct stat status;
    if (request_is_strict(request) && proto_check_names(body, names, error) < 0)
        return -1;
    if (proto_string(body, "username", &name, error) < 0 ||
        proto_string(body, "destination", &destination, error) < 0 ||
        proto_array(body, "sourcePaths", &paths, error) < 0 ||
        users_find(*name ? name : agent->default_user, &compose->user, error) < 0)
        return -1;
    if (!*destination)
        return proto_missing(body, "destination", error);
    if (paths_resolve(destination, &compose->user, &compose->destination, error) < 0)
        return -1;
    if (stat(compose->destination, &status) == 0 && !S_ISREG(status.st_mode))
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "'%s' is not a regular file",
                             compose->destination);
    if (read_sources(compose, paths, error) < 0)
        return -1;
    return paths_make_parents(compose->destination, &compose->user, error);
}

int files_compose_finish(struct request *request, struct rpc_error *error)
{
    compose_auto compose = {.sources = NULL};
    json_auto_t *body = proto_read(request->body.data, request->body.size, error);
    if (!body || read_body(request, body, &compose, error) < 0)
        return -1;
    return worker_run(request, work, &compose, error);
}
