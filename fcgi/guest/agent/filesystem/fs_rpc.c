/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/filesystem/fs_rpc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/common/paths.h"
#include "agent/common/proto.h"
#include "agent/filesystem/fs_entry.h"
#include "agent/filesystem/fs_messages.h"
#include "agent/filesystem/fs_walk.h"
#include "agent/framework/worker.h"

#define DEPTH_MAX UINT32_MAX

static int read_path(const json_t *message, const char *name, const struct user *user, char **path,
                     struct rpc_error *error)
{
    const char *text;
    if (proto_string(message, name, &text, error) < 0)
        return -1;
    return paths_resolve(text, user, path, error);
}

/* Read the path of a change. A missing one is no home directory: an empty variable of a program
 * must not remove it. */
static int read_target(const json_t *message, const char *name, const struct user *user,
                       char **path, struct rpc_error *error)
{
    const char *text;
    if (proto_string(message, name, &text, error) < 0)
        return -1;
    if (!*text)
        return proto_missing(message, name, error);
    return paths_resolve(text, user, path, error);
}

static int answer_entry(const char *path, json_t **answer, struct rpc_error *error)
{
    json_t *entry;
    users_forget();
    if (fs_entry_at(path, &entry, error) < 0)
        return -1;
    *answer = json_pack("{s:o}", "entry", entry);
    return 0;
}

static int stat_file(struct request *request, const json_t *message, json_t **answer,
                     struct rpc_error *error)
{
    user_auto user = {.name = NULL};
    autofree char *path = NULL;
    if (rpc_user(request, &user, error) < 0 || read_path(message, "path", &user, &path, error) < 0)
        return -1;
    return answer_entry(path, answer, error);
}

static int make_dir(struct request *request, const json_t *message, json_t **answer,
                    struct rpc_error *error)
{
    user_auto user = {.name = NULL};
    autofree char *path = NULL;
    struct stat status;
    if (rpc_user(request, &user, error) < 0 ||
        read_target(message, "path", &user, &path, error) < 0)
        return -1;
    if (stat(path, &status) == 0)
        return S_ISDIR(status.st_mode)
                   ? rpc_error_set(error, RPC_ALREADY_EXISTS, "'%s' exists already", path)
                   : rpc_error_set(error, RPC_INVALID_ARGUMENT, "'%s' is not a directory", path);
    if (paths_make_directories(path, &user, error) < 0)
        return -1;
    return answer_entry(path, answer, error);
}

static int move(struct request *request, const json_t *message, json_t **answer,
                struct rpc_error *error)
{
    user_auto user = {.name = NULL};
    autofree char *source = NULL;
    autofree char *destination = NULL;
    struct stat status;
    if (rpc_user(request, &user, error) < 0 ||
        read_target(message, "source", &user, &source, error) < 0 ||
        read_target(message, "destination", &user, &destination, error) < 0)
        return -1;
    if (lstat(source, &status) < 0)
        return rpc_error_set_errno(error, rpc_errno_of_reading(errno), "cannot move '%s'", source);
    if (paths_make_parents(destination, &user, error) < 0)
        return -1;
    if (rename(source, destination) == 0)
        return answer_entry(destination, answer, error);
    if (errno == EXDEV)
        return rpc_error_set(error, RPC_INVALID_ARGUMENT,
                             "cannot move between two disks: run mv with '%s' and '%s'", source,
                             destination);
    return rpc_error_set_errno(error, errno, "cannot move '%s' to '%s'", source, destination);
}

static int list_dir(struct request *request, const json_t *message, json_t **answer,
                    struct rpc_error *error)
{
    (void)answer;
    user_auto user = {.name = NULL};
    autofree char *path = NULL;
    int64_t depth;
    if (rpc_user(request, &user, error) < 0 ||
        read_path(message, "path", &user, &path, error) < 0 ||
        proto_integer(message, "depth", 0, DEPTH_MAX, &depth, error) < 0)
        return -1;
    users_forget();
    const struct fs_walk walk = {
        .path = path, .depth = depth ? depth : 1, .binary = request->type->binary};
    return worker_run(request, fs_walk_list, &walk, error);
}

static int remove_file(struct request *request, const json_t *message, json_t **answer,
                       struct rpc_error *error)
{
    user_auto user = {.name = NULL};
    autofree char *path = NULL;
    struct stat status;
    if (rpc_user(request, &user, error) < 0 ||
        read_target(message, "path", &user, &path, error) < 0)
        return -1;
    if (!strcmp(path, "/"))
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "cannot remove the root directory");
    if (lstat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        const struct fs_walk walk = {.path = path, .binary = request->type->binary};
        return worker_run(request, fs_walk_remove, &walk, error);
    }
    if (unlink(path) < 0 && errno != ENOENT && errno != ENOTDIR)
        return rpc_error_set_errno(error, errno, "cannot remove '%s'", path);
    *answer = json_object();
    return 0;
}

const struct rpc fs_rpc_stat = {
    .unary = stat_file, .request = &fs_message_path, .answer = &fs_message_entry};
const struct rpc fs_rpc_make_dir = {
    .unary = make_dir, .request = &fs_message_path, .answer = &fs_message_entry};
const struct rpc fs_rpc_move = {
    .unary = move, .request = &fs_message_move, .answer = &fs_message_entry};
const struct rpc fs_rpc_list_dir = {.unary = list_dir,
                                    .closed = worker_closed,
                                    .request = &fs_message_list,
                                    .answer = &fs_message_listed};
const struct rpc fs_rpc_remove = {.unary = remove_file,
                                  .closed = worker_closed,
                                  .request = &fs_message_path,
                                  .answer = &fs_message_empty};
