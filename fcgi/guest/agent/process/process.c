/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/process/process.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/process/process_io.h"
#include "agent/process/session_kill.h"
#include "base/clock.h"
#include "base/guest_limits.h"
#include "base/mem.h"

/* How long the end of a process can be asked for, and of how many. */
#define LINGER_MS  30000
#define LINGER_MAX 256

void process_table_init(struct process_table *table)
{
    *table = (struct process_table){.live_count = 0};
    TAILQ_INIT(&table->live);
    TAILQ_INIT(&table->ended);
    process_log_init(&table->log);
}

static void forget(struct process *process)
{
    struct process_table *table = process->agent->processes;
    TAILQ_REMOVE(&table->ended, process, link);
    table->ended_count--;
    loop_timer_disarm(&process->agent->loop, &process->linger);
    buffer_deinit(&process->missed);
    process_log_source_release(process->log_source);
    free(process->tag);
    free(process);
}

static void on_linger_over(struct loop_timer *timer)
{
    forget(container_of(timer, struct process, linger));
}

static int check_bounds(const struct process_table *table, size_t config_size, const char *tag,
                        struct rpc_error *error)
{
    if (table->live_count >= PROCESSES_MAX)
        return rpc_error_set(error, RPC_RESOURCE_EXHAUSTED,
                             "the sandbox runs %d processes of clients, which is the most",
                             PROCESSES_MAX);
    if (table->config_bytes + config_size > PROCESS_CONFIG_BYTES_MAX)
        return rpc_error_set(
            error, RPC_RESOURCE_EXHAUSTED,
            "the commands and environments of the running processes are too large together");
    if (tag && strlen(tag) > GUEST_TAG_BYTES_MAX)
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "the tag is longer than %d bytes",
                             GUEST_TAG_BYTES_MAX);
    return 0;
}

int process_start(struct agent *agent, const struct process_spec *spec, json_t *config,
                  const char *tag, struct process **process, struct rpc_error *error)
{
    json_auto_t *description = config;
    struct process_table *table = agent->processes;
    size_t config_size = json_dumpb(description, NULL, 0, JSON_COMPACT);
    struct process_ends ends;
    pid_t pid;
    struct group_counts before;
    group_counts_read(&before);
    if (check_bounds(table, config_size, tag, error) < 0 ||
        process_spawn(spec, &pid, &ends, error) < 0)
        return -1;
    struct process *p = xcalloc(1, sizeof *p);
    p->agent = agent;
    p->pid = pid;
    p->tag = xstrdup_or_null(tag);
    p->log_source = process_log_source_new(pid, spec->argv[0], tag);
    p->config = steal_pointer(&description);
    p->config_size = config_size;
    p->has_pty = spec->with_pty;
    p->before = before;
    buffer_init(&p->missed, PROCESS_MISSED_MAX);
    LIST_INIT(&p->followers);
    STAILQ_INIT(&p->inputs);
    process_io_open(p, &ends);
    TAILQ_INSERT_TAIL(&table->live, p, link);
    table->live_count++;
    table->config_bytes += config_size;
    *process = p;
    return 0;
}

static void settle(struct process *process)
{
    struct process_follower *follower;
    process->settled = true;
    loop_timer_disarm(&process->agent->loop, &process->grace);
    while ((follower = LIST_FIRST(&process->followers))) {
        process_unfollow(follower);
        follower->events->ended(follower, &process->end);
    }
}

static void end(struct process *process)
{
    struct process_table *table = process->agent->processes;
    while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    process_io_close(process);
    loop_timer_disarm(&process->agent->loop, &process->limit);
    settle(process);
    TAILQ_REMOVE(&table->live, process, link);
    table->live_count--;
    table->config_bytes -= process->config_size;
    json_decref(process->config);
    process->config = NULL;
    /* The latest of a tag, or of a pid that came round again, is the one that is asked for. */
    TAILQ_INSERT_HEAD(&table->ended, process, link);
    if (++table->ended_count > LINGER_MAX)
        forget(TAILQ_LAST(&table->ended, process_list));
    loop_timer_arm(&process->agent->loop, &process->linger, clock_monotonic_ms() + LINGER_MS,
                   on_linger_over);
}

void process_end_if_done(struct process *process)
{
    /* A process without a config has ended before. */
    if (!process->config || !process->exited)
        return;
    if (process->output.source.fd < 0 && process->error.source.fd < 0)
        end(process);
    else if (process->grace_over && !process->settled && !process->output.owed &&
             !process->error.owed)
        settle(process);
}

bool process_is_over(const struct process *process)
{
    return !process->config || process->settled;
}

static void on_grace_over(struct loop_timer *timer)
{
    struct process *process = container_of(timer, struct process, grace);
    process->grace_over = true;
    process_io_owe(process);
    process_end_if_done(process);
}

static void note_reason(struct process *process)
{
    struct group_counts now;
    if (!process->end.wait_status || process->end.reason)
        return;
    if (process->hurried) {
        process_reason_order(&process->end);
        return;
    }
    group_counts_read(&now);
    process_reason_find(&process->end, process->pid, &process->before, &now);
    process_log_note_kills(&process->agent->processes->log, now.memory_kills);
}

static void note_exit(struct process *process)
{
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || !info.si_pid)
        return;
    process->exited = true;
    process->end.at_ms = clock_monotonic_ms();
    if (info.si_code == CLD_EXITED)
        process->end.wait_status = W_EXITCODE(info.si_status, 0);
    else
        process->end.wait_status =
            W_EXITCODE(0, info.si_status) | (info.si_code == CLD_DUMPED ? WCOREFLAG : 0);
    note_reason(process);
    loop_timer_disarm(&process->agent->loop, &process->limit);
    loop_timer_arm(&process->agent->loop, &process->grace, process->end.at_ms + PROCESS_GRACE_MS,
                   on_grace_over);
    /* A terminal is over when the leader of its session is, as with any terminal program. */
    if (process->hurried || process->has_pty || info.si_code != CLD_EXITED)
        process_io_hurry(process);
    process_end_if_done(process);
}

void process_reap(struct agent *agent)
{
    struct process *process = TAILQ_FIRST(&agent->processes->live);
    while (process) {
        struct process *next = TAILQ_NEXT(process, link);
        if (!process->exited)
            note_exit(process);
        process = next;
    }
}

static struct process *find_in(struct process_list *list, pid_t pid, const char *tag)
{
    struct process *process;
    TAILQ_FOREACH(process, list, link)
    {
        if (*tag ? process->tag && !strcmp(process->tag, tag) : process->pid == pid)
            break;
    }
    return process;
}

struct process *process_find(struct process_table *table, pid_t pid, const char *tag, bool ended)
{
    struct process *process = find_in(&table->live, pid, tag);
    return process || !ended ? process : find_in(&table->ended, pid, tag);
}

void process_follow(struct process *process, struct process_follower *follower)
{
    follower->process = process;
    LIST_INSERT_HEAD(&process->followers, follower, link);
}

void process_unfollow(struct process_follower *follower)
{
    LIST_REMOVE(follower, link);
    follower->process = NULL;
}

void process_displace(struct process *process)
{
    struct process_follower *follower = LIST_FIRST(&process->followers);
    while (follower) {
        struct process_follower *next = LIST_NEXT(follower, link);
        if (follower->events->displaced) {
            process_unfollow(follower);
            follower->events->displaced(follower);
        }
        follower = next;
    }
}

static void note_kill(struct process *process)
{
    process->hurried = true;
    if (!process->exited)
        return;
    process_io_hurry(process);
    process_end_if_done(process);
}

int process_signal(struct process *process, int number, struct rpc_error *error)
{
    /* The pid is the program's: it is not reaped while it is in the live list. Each process has a
     * session of its own, so its group has its pid. */
    if (number == SIGKILL) {
        process_kill(process);
        return 0;
    }
    if (session_signal(process->pid, number) < 0)
        return rpc_error_set_errno(error, errno, "cannot send the signal");
    if (number == SIGTERM)
        note_kill(process);
    return 0;
}

void process_kill(struct process *process)
{
    session_kill(process->pid);
    note_kill(process);
}

static void on_limit(struct loop_timer *timer)
{
    struct process *process = container_of(timer, struct process, limit);
    process_reason_time_limit(&process->end);
    process_kill(process);
}

void process_limit(struct process *process, int64_t limit_ms)
{
    loop_timer_arm(&process->agent->loop, &process->limit, clock_monotonic_ms() + limit_ms,
                   on_limit);
}

int process_resize(struct process *process, unsigned short cols, unsigned short rows,
                   struct rpc_error *error)
{
    if (!process->has_pty)
        return rpc_error_set(error, RPC_FAILED_PRECONDITION, "the process has no terminal");
    struct winsize size;
    int fd = process->output.source.fd;
    if (fd < 0 || ioctl(fd, TIOCGWINSZ, &size) < 0)
        return rpc_error_set(error, RPC_INTERNAL, "the terminal is closed");
    size.ws_col = cols ? cols : size.ws_col;
    size.ws_row = rows ? rows : size.ws_row;
    if (ioctl(fd, TIOCSWINSZ, &size) < 0)
        return rpc_error_set(error, RPC_INTERNAL, "the terminal is closed");
    return 0;
}
