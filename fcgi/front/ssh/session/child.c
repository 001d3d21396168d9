/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ssh/session/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define ENVIRONMENT_FD 4
#define PIECE          (16 * 1024)

void child_word(struct child_call *call, const char *word)
{
    if (call->count < CHILD_WORDS_MAX - 1)
        call->words[call->count++] = word;
}

/* The ends of a stream: [0] this process's, [1] the child's. */
struct ends {
    int in[2], out[2], err[2];
    int environment;
};

static void ends_close(struct ends *ends)
{
    int *const all[] = {&ends->in[0],  &ends->in[1],  &ends->out[0],     &ends->out[1],
                        &ends->err[0], &ends->err[1], &ends->environment};
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        if (*all[i] >= 0)
            close(*all[i]);
        *all[i] = -1;
    }
}

static int open_pipe(int ends[2], bool we_write)
{
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) < 0)
        return -1;
    ends[0] = pair[we_write];
    ends[1] = pair[!we_write];
    return fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

static int open_terminal(const struct child_call *call, struct ends *ends)
{
    const struct winsize size = {.ws_col = (unsigned short)call->cols,
                                 .ws_row = (unsigned short)call->rows};
    /* The sandbox has the terminal that edits lines; this one only passes bytes on. */
    struct termios raw = {.c_cflag = CREAD};
    cfmakeraw(&raw);
    if (openpty(&ends->in[0], &ends->in[1], NULL, &raw, &size) < 0)
        return -1;
    fcntl(ends->in[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends->in[1], F_SETFD, FD_CLOEXEC);
    return fcntl(ends->in[0], F_SETFL, O_NONBLOCK);
}

/* Put the environment into a nameless file: every user of the machine can read command lines. */
static int open_environment(const struct child_call *call, struct ends *ends)
{
    if (!call->environment)
        return 0;
    ends->environment = memfd_create("environment", MFD_CLOEXEC);
    if (ends->environment < 0 || write(ends->environment, call->environment,
                                       call->environment_size) != (ssize_t)call->environment_size)
        return -1;
    return lseek(ends->environment, 0, SEEK_SET) < 0 ? -1 : 0;
}

static int ends_open(const struct child_call *call, struct ends *ends)
{
    *ends = (struct ends){{-1, -1}, {-1, -1}, {-1, -1}, -1};
    if (open_environment(call, ends) < 0)
        return -1;
    if (call->terminal)
        return open_terminal(call, ends);
    return open_pipe(ends->in, true) < 0 || open_pipe(ends->out, false) < 0 ||
                   open_pipe(ends->err, false) < 0
               ? -1
               : 0;
}

static void take_streams(const struct child_call *call, const struct ends *ends)
{
    int output = call->terminal ? ends->in[1] : ends->out[1];
    int errors = call->terminal ? ends->in[1] : ends->err[1];
    if (setsid() < 0 || (call->terminal && ioctl(ends->in[1], TIOCSCTTY, 0) < 0) ||
        dup2(ends->in[1], STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
        dup2(errors, STDERR_FILENO) < 0)
        _exit(126);
    if (ends->environment == ENVIRONMENT_FD)
        fcntl(ENVIRONMENT_FD, F_SETFD, 0);
    else if (ends->environment >= 0)
        dup2(ends->environment, ENVIRONMENT_FD);
    else
        close(ENVIRONMENT_FD);
    close(STDERR_FILENO + 1);
    close_range(ENVIRONMENT_FD + 1, ~0U, 0);
}

static void become_program(const struct child_setting *setting, const struct child_call *call,
                           const struct ends *ends)
{
    char *words[CHILD_WORDS_MAX + 2] = {(char[]){"sandlot"}};
    char *environment[10] = {(char[]){"PATH=/usr/bin:/bin"}, (char[]){"HOME=/nonexistent"}};
    size_t count = 2;
    sigset_t none;
    for (size_t i = 0; i < call->count; i++)
        words[i + 1] = (char *)call->words[i];
    environment[count++] = xasprintf("SANDLOT_URL=%s", setting->url);
    environment[count++] = xasprintf("SANDLOT_KEY=%s", setting->key);
    if (setting->ca_file)
        environment[count++] = xasprintf("SANDLOT_CA=%s", setting->ca_file);
    if (setting->session_token && clock_monotonic_ms() < setting->session_until_ms) {
        environment[count++] = xasprintf("SANDLOT_SESSION_URL=%s", setting->session_url);
        environment[count++] = xasprintf("SANDLOT_SESSION_TOKEN=%s", setting->session_token);
    }
    if (call->terminal_kind)
        environment[count++] = xasprintf("TERM=%s", call->terminal_kind);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    take_streams(call, ends);
    execve(SANDLOT_CLI, words, environment);
    _exit(127);
}

int child_start(const struct child_setting *setting, const struct child_call *call,
                struct child *child, struct error **err)
{
    struct ends ends;
    *child = (struct child){0, -1, -1, -1};
    if (ends_open(call, &ends) < 0) {
        ends_close(&ends);
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot create the streams of a process");
    }
    pid_t pid = fork();
    if (pid == 0)
        become_program(setting, call, &ends);
    if (pid < 0) {
        ends_close(&ends);
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot start a process");
    }
    child->pid = pid;
    child->in = steal_fd(&ends.in[0]);
    child->out = call->terminal ? child->in : steal_fd(&ends.out[0]);
    child->err = steal_fd(&ends.err[0]);
    ends_close(&ends);
    return 0;
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void child_close_input(struct child *child)
{
    if (child->in == child->out)
        return; /* a terminal has no end of its input */
    close_one(&child->in);
}

void child_close(struct child *child)
{
    if (child->in == child->out)
        child->out = -1;
    close_one(&child->in);
    close_one(&child->out);
    close_one(&child->err);
}

void child_resize(const struct child *child, int cols, int rows)
{
    const struct winsize size = {.ws_col = (unsigned short)cols, .ws_row = (unsigned short)rows};
    if (child->in >= 0 && child->in == child->out)
        ioctl(child->in, TIOCSWINSZ, &size);
}

/* --- wait for the end --- */

/* Read into a buffer. Returns false at the end of the stream. */
static bool take(int *fd, struct buffer *buffer)
{
    char piece[PIECE];
    ssize_t size = read(*fd, piece, sizeof piece);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (size <= 0) {
        close_one(fd);
        return false;
    }
    buffer_append(buffer, piece, (size_t)size); /* bytes over the limit are dropped */
    mem_wipe(piece, (size_t)size);
    return true;
}

static void collect(struct child *child, int64_t until_ms, struct buffer *output,
                    struct buffer *complaint)
{
    while (child->out >= 0 || child->err >= 0) {
        struct pollfd wait[] = {{.fd = child->out, .events = POLLIN},
                                {.fd = child->err, .events = POLLIN}};
        int64_t left_ms = until_ms - clock_monotonic_ms();
        if (left_ms <= 0)
            return;
        if (poll(wait, 2, (int)left_ms) < 0 && errno != EINTR)
            return;
        if (wait[0].revents)
            take(&child->out, output);
        if (wait[1].revents)
            take(&child->err, complaint);
    }
}

int child_run(const struct child_setting *setting, const struct child_call *call, int limit_s,
              struct buffer *output, struct buffer *complaint, int *exit_code, struct error **err)
{
    struct child child;
    int status;
    if (child_start(setting, call, &child, err) < 0)
        return -1;
    child_close_input(&child);
    collect(&child, clock_monotonic_ms() + (int64_t)limit_s * 1000, output, complaint);
    if (child.out >= 0 || child.err >= 0)
        kill(child.pid, SIGKILL);
    child_close(&child);
    while (waitpid(child.pid, &status, 0) < 0)
        if (errno != EINTR)
            return error_set_errno(err, ERR_INTERNAL, errno, "cannot wait for a process");
    *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return 0;
}
