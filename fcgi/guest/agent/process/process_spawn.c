/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/process/process_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/guest_limits.h"
#include "base/instance.h"
#include "base/mem.h"

/* Under memory pressure the programs go before the agent. */
#define OOM_SCORE_RAISE 200
#define OOM_SCORE_MAX   1000

static struct {
    struct rlimit open_files;
    char oom_score[16];
} inherited;

/* The values for the child, and the pipe that reports a failed exec. */
struct child_ends {
    int input, output, error, report;
    int line; /* -1: none */
};

enum stage { STAGE_SETUP, STAGE_USER, STAGE_CWD, STAGE_EXEC };

struct report {
    enum stage stage;
    int errnum;
};

void process_spawn_init(void)
{
    getrlimit(RLIMIT_NOFILE, &inherited.open_files);
    int own = 0;
    autofclose FILE *file = fopen("/proc/self/oom_score_adj", "re");
    if (file && fscanf(file, "%d", &own) != 1)
        own = 0;
    int raised = own + OOM_SCORE_RAISE;
    snprintf(inherited.oom_score, sizeof inherited.oom_score, "%d",
             raised > OOM_SCORE_MAX ? OOM_SCORE_MAX : raised);
}

__attribute__((noreturn)) static void child_fail(const struct child_ends *ends, enum stage stage)
{
    struct report report = {stage, errno};
    if (write(ends->report, &report, sizeof report) < 0)
        _exit(126);
    _exit(127);
}

static void child_reset_signals(void)
{
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void child_raise_oom_score(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    /* Failing is no reason not to run. */
    if (write(fd, inherited.oom_score, strlen(inherited.oom_score)) < 0)
        errno = 0;
    close(fd);
}

static int child_take_descriptors(const struct child_ends *ends)
{
    if (dup2(ends->input, STDIN_FILENO) < 0 || dup2(ends->output, STDOUT_FILENO) < 0 ||
        dup2(ends->error, STDERR_FILENO) < 0)
        return -1;
    /* The agent opens everything close-on-exec already; this also covers descriptors that it
     * inherited. */
    close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    if (ends->line < 0)
        return 0;
    if (ends->line == PROCESS_LINE_FD)
        return fcntl(PROCESS_LINE_FD, F_SETFD, 0);
    return dup2(ends->line, PROCESS_LINE_FD) < 0 ? -1 : 0;
}

/* The glibc wrappers only; there are no threads that would have to follow. */
static int child_become_user(const struct user *user)
{
    if (geteuid() != 0 && geteuid() == user->uid)
        return 0;
    if (setgroups(user->group_count, user->groups) < 0 || setgid(user->gid) < 0 ||
        setuid(user->uid) < 0)
        return -1;
    return 0;
}

__attribute__((noreturn)) static void child_run(const struct process_spec *spec,
                                                const struct child_ends *ends)
{
    child_reset_signals();
    if (setsid() < 0 || (spec->with_pty && ioctl(ends->input, TIOCSCTTY, 0) < 0) ||
        child_take_descriptors(ends) < 0)
        child_fail(ends, STAGE_SETUP);
    child_raise_oom_score();
    setrlimit(RLIMIT_NOFILE, &inherited.open_files);
    umask(022);
    if (child_become_user(spec->user) < 0)
        child_fail(ends, STAGE_USER);
    if (chdir(spec->cwd) < 0 && (!spec->or_root || chdir("/") < 0))
        child_fail(ends, STAGE_CWD);
    environ = spec->environment->entries;
    execvp(spec->argv[0], spec->argv);
    child_fail(ends, STAGE_EXEC);
}

static int open_pty(const struct process_spec *spec, struct process_ends *ours,
                    struct child_ends *theirs)
{
    struct winsize size = {.ws_row = spec->rows, .ws_col = spec->cols};
    ours->input = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (ours->input < 0 || grantpt(ours->input) < 0 || unlockpt(ours->input) < 0 ||
        fcntl(ours->input, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
        return -1;
    theirs->input = ioctl(ours->input, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (theirs->input < 0 || fchown(theirs->input, spec->user->uid, (gid_t)-1) < 0 ||
        ioctl(ours->input, TIOCSWINSZ, &size) < 0)
        return -1;
    theirs->output = fcntl(theirs->input, F_DUPFD_CLOEXEC, 3);
    theirs->error = fcntl(theirs->input, F_DUPFD_CLOEXEC, 3);
    ours->output = fcntl(ours->input, F_DUPFD_CLOEXEC, 3);
    return theirs->output < 0 || theirs->error < 0 || ours->output < 0 ? -1 : 0;
}

/* One pipe whose end on our side (0: the reading one) does not block. It belongs to the user, whose
 * programs also open their ends by name, such as /dev/stderr. */
static int open_pipe(int our_side, const struct user *user, int *ours, int *theirs)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    *ours = ends[our_side];
    *theirs = ends[!our_side];
    (void)!fchown(*theirs, user->uid, (gid_t)-1);
    return fcntl(*ours, F_SETFL, O_NONBLOCK);
}

static int open_pipes(const struct process_spec *spec, struct process_ends *ours,
                      struct child_ends *theirs)
{
    if (open_pipe(0, spec->user, &ours->output, &theirs->output) < 0 ||
        open_pipe(0, spec->user, &ours->error, &theirs->error) < 0)
        return -1;
    if (spec->with_stdin)
        return open_pipe(1, spec->user, &ours->input, &theirs->input);
    theirs->input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return theirs->input < 0 ? -1 : 0;
}

/* A file without a name, which the user may open. */
static int open_line(const struct process_spec *spec, struct child_ends *theirs)
{
    if (!spec->line)
        return 0;
    theirs->line = memfd_create("line", MFD_CLOEXEC);
    size_t left = strlen(spec->line);
    for (const char *at = spec->line; theirs->line >= 0 && left;) {
        ssize_t size = write(theirs->line, at, left);
        if (size < 0)
            return -1;
        at += size;
        left -= (size_t)size;
    }
    return theirs->line < 0 || lseek(theirs->line, 0, SEEK_SET) < 0 ? -1 : 0;
}

/* E2BIG has two causes, and the kernel does not say which. */
static int explain_too_long(const struct process_spec *spec, struct rpc_error *error)
{
    size_t all = 0;
    for (size_t i = 0; spec->argv[i]; i++) {
        size_t size = strlen(spec->argv[i]);
        all += size;
        if (size > GUEST_ARGUMENT_BYTES_MAX)
            return rpc_error_set_field(
                error, "/args",
                "argument %zu of '%.64s' has %zu bytes, and the kernel accepts %d "
                "in one argument: pass the data on standard input or in a file",
                i, spec->argv[0], size, GUEST_ARGUMENT_BYTES_MAX);
    }
    return rpc_error_set(error, RPC_INVALID_ARGUMENT,
                         "the arguments of '%.64s' have %zu bytes and its environment %zu, "
                         "together more than the kernel accepts (a quarter of the limit of the "
                         "stack): pass the data on standard input or in a file",
                         spec->argv[0], all, spec->environment->bytes);
}

static int explain(const struct report *report, const struct process_spec *spec,
                   struct rpc_error *error)
{
    const char *why = strerror(report->errnum);
    switch (report->stage) {
    case STAGE_CWD:
        return rpc_error_set_field(error, "/cwd", "cannot use cwd '%s': %s", spec->cwd, why);
    case STAGE_EXEC:
        if (report->errnum == E2BIG)
            return explain_too_long(spec, error);
        if (report->errnum == ETXTBSY)
            return rpc_error_set(error, RPC_UNAVAILABLE,
                                 "cannot start '%s': " AGENT_PROGRAM_IS_WRITTEN "; try again later",
                                 spec->argv[0]);
        return rpc_error_set_field(error, "/cmd", "cannot start '%s': %s", spec->argv[0], why);
    case STAGE_USER:
        return rpc_error_set(error, RPC_INTERNAL, "cannot become user '%s': %s", spec->user->name,
                             why);
    default:
        return rpc_error_set_errno(error, report->errnum, "cannot set up the process");
    }
}

static void close_if_open(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_child_ends(struct child_ends *ends)
{
    close_if_open(&ends->input);
    close_if_open(&ends->output);
    close_if_open(&ends->error);
    close_if_open(&ends->report);
    close_if_open(&ends->line);
}

/* Fork, and wait until the child has become the program or has told why not. */
static int launch(const struct process_spec *spec, struct child_ends *theirs, pid_t *pid,
                  struct rpc_error *error)
{
    autoclose int report_fd = -1;
    int pipe_ends[2];
    if (pipe2(pipe_ends, O_CLOEXEC) < 0)
        return rpc_error_set_errno(error, errno, "cannot set up the process");
    report_fd = pipe_ends[0];
    theirs->report = pipe_ends[1];
    *pid = fork();
    if (*pid < 0 && errno == EAGAIN)
        return rpc_error_set(
            error, RPC_RESOURCE_EXHAUSTED,
            "the sandbox has %d processes and threads, the most that it can have: end some first",
            GUEST_PROCESSES_MAX);
    if (*pid < 0)
        return rpc_error_set_errno(error, errno, "cannot start the process");
    if (*pid == 0)
        child_run(spec, theirs);
    close_child_ends(theirs);
    struct report report;
    ssize_t size;
    while ((size = read(report_fd, &report, sizeof report)) < 0 && errno == EINTR)
        ;
    if (size == 0)
        return 0;
    while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (size != sizeof report)
        return rpc_error_set(error, RPC_INTERNAL, "cannot set up the process");
    return explain(&report, spec, error);
}

int process_spawn(const struct process_spec *spec, pid_t *pid, struct process_ends *ends,
                  struct rpc_error *error)
{
    struct child_ends theirs = {-1, -1, -1, -1, -1};
    *ends = (struct process_ends){-1, -1, -1};
    int rc = open_line(spec, &theirs);
    if (rc == 0)
        rc = spec->with_pty ? open_pty(spec, ends, &theirs) : open_pipes(spec, ends, &theirs);
    if (rc < 0)
        rpc_error_set_errno(error, errno, "cannot set up the process");
    else
        rc = launch(spec, &theirs, pid, error);
    close_child_ends(&theirs);
    if (rc < 0) {
        close_if_open(&ends->input);
        close_if_open(&ends->output);
        close_if_open(&ends->error);
    }
    return rc;
}
