/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/common/run.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

static int status_of(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return RUN_CANNOT;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Start a command. output: its standard output; -1: inherited. */
static int start(char *const command[], int output, bool quiet, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (output >= 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (quiet)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(pid, command[0], &actions, NULL, command, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed && !quiet)
        fprintf(stderr, "%s: cannot run %s: %s\n", program_invocation_short_name, command[0],
                strerror(failed));
    return failed ? -1 : 0;
}

int run_wait(char *const command[], bool quiet)
{
    pid_t pid;
    return start(command, -1, quiet, &pid) < 0 ? RUN_CANNOT : status_of(pid);
}

char *run_read(char *const command[], size_t most)
{
    int ends[2];
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return NULL;
    autoclose int from = ends[0];
    int failed = start(command, ends[1], true, &pid);
    close(ends[1]);
    if (failed < 0)
        return NULL;
    autofree char *text = xmalloc(most + 1);
    size_t size = 0;
    ssize_t got;
    while (size < most &&
           ((got = read(from, text + size, most - size)) > 0 || (got < 0 && errno == EINTR)))
        size += got > 0 ? (size_t)got : 0;
    text[size] = '\0';
    close(steal_fd(&from)); /* a command that still writes ends by SIGPIPE */
    return status_of(pid) == 0 ? steal_pointer(&text) : NULL;
}

int run_become(const char *program, char *const command[])
{
    execvp(program, command);
    fprintf(stderr, "%s: cannot run %s: %s\n", program_invocation_short_name, program,
            strerror(errno));
    return RUN_CANNOT;
}

const char *run_first_of(const char *const paths[], size_t count)
{
    size_t i = 0;
    while (i + 1 < count && access(paths[i], X_OK) < 0)
        i++;
    return paths[i];
}
