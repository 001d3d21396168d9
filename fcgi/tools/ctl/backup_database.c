/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/backup_database.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "config/database.h"

#define ARGUMENTS_MAX 16

/* One of the programs with the same task; arguments: behind the options that log in, NULL at the
 * end. in and out: -1 for nothing. */
struct client {
    const char *names[2];
    const char *arguments[ARGUMENTS_MAX - 2];
    int in, out;
};

static int start(const struct client *client, int options, pid_t *child)
{
    autofree char *login = xasprintf("--defaults-file=/proc/self/fd/%d", options);
    const char *arguments[ARGUMENTS_MAX] = {NULL, login};
    posix_spawn_file_actions_t actions;
    int failed = ENOENT;
    for (unsigned i = 0; client->arguments[i]; i++)
        arguments[i + 2] = client->arguments[i];
    posix_spawn_file_actions_init(&actions);
    if (client->in >= 0)
        posix_spawn_file_actions_adddup2(&actions, client->in, STDIN_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (client->out >= 0)
        posix_spawn_file_actions_adddup2(&actions, client->out, STDOUT_FILENO);
    for (unsigned i = 0; i < ARRAY_SIZE(client->names) && failed == ENOENT; i++) {
        arguments[0] = client->names[i];
        failed = posix_spawnp(child, arguments[0], &actions, NULL,
                              (char *const *)(uintptr_t)arguments, environ);
    }
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static int run(const struct settings *settings, const struct client *client, struct error **err)
{
    autoclose int options = -1;
    int status = 0;
    pid_t child;
    if (database_client_options(settings, &options, err) < 0)
        return -1;
    int failed = start(client, options, &child);
    if (failed)
        return error_set_errno(err, ERR_CONFIG, failed, "cannot run %s or %s; install one of them",
                               client->names[0], client->names[1]);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return error_set_errno(err, ERR_CONFIG, errno, "cannot wait for the program %s",
                                   client->names[0]);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0
               ? 0
               : error_set(err, ERR_CONFIG, "%s failed on the database %s", client->names[0],
                           settings->database_name);
}

int backup_database_dump(const struct settings *settings, const char *path, struct error **err)
{
    autoclose int out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot write %s", path);
    struct client client = {
        .names = {"mariadb-dump", "mysqldump"},
        .arguments = {"--single-transaction", "--quick", "--hex-blob", "--routines", "--triggers",
                      "--no-tablespaces", "--skip-lock-tables", "--default-character-set=utf8mb4",
                      settings->database_name},
        .in = -1,
        .out = out,
    };
    return run(settings, &client, err);
}

int backup_database_load(const struct settings *settings, const char *path, const char *name,
                         struct error **err)
{
    autoclose int in = open(path, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read %s", path);
    struct client client = {
        .names = {"mariadb", "mysql"},
        .arguments = {"--batch", "--default-character-set=utf8mb4", name},
        .in = in,
        .out = -1,
    };
    return run(settings, &client, err);
}

int backup_database_scratch(const struct settings *settings, const char *name, bool make,
                            struct error **err)
{
    autofree char *sql = xasprintf("DROP DATABASE IF EXISTS `%s`;", name);
    autofree char *making =
        xasprintf("%s CREATE DATABASE `%s` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;", sql, name);
    struct client client = {
        .names = {"mariadb", "mysql"},
        .arguments = {"--batch", "--execute", make ? making : sql},
        .in = -1,
        .out = -1,
    };
    if (strchr(name, '`'))
        return error_set(
            err, ERR_CONFIG,
            "the name of the database %s has a quote, which sandlotctl does not support", name);
    return run(settings, &client, err);
}
