/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/process/process_end.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "base/mem.h"

/* The words that clients of the protocol know; strsignal() has others. */
static const char *const signal_words[] = {
    [SIGHUP] = "hangup",
    [SIGINT] = "interrupt",
    [SIGQUIT] = "quit",
    [SIGILL] = "illegal instruction",
    [SIGTRAP] = "trace/breakpoint trap",
    [SIGABRT] = "aborted",
    [SIGBUS] = "bus error",
    [SIGFPE] = "floating point exception",
    [SIGKILL] = "killed",
    [SIGUSR1] = "user defined signal 1",
    [SIGSEGV] = "segmentation error",
    [SIGUSR2] = "user defined signal 2",
    [SIGPIPE] = "broken pipe",
    [SIGALRM] = "alarm clock",
    [SIGTERM] = "terminated",
    [SIGSTKFLT] = "stack error",
    [SIGXCPU] = "CPU time limit exceeded",
    [SIGXFSZ] = "file size limit exceeded",
    [SIGVTALRM] = "virtual timer expired",
    [SIGPROF] = "profiling timer expired",
    [SIGIO] = "I/O possible",
    [SIGPWR] = "power failure",
    [SIGSYS] = "bad system call",
};

static void describe(int wait_status, char *text, size_t size)
{
    if (WIFEXITED(wait_status)) {
        snprintf(text, size, "exit status %d", WEXITSTATUS(wait_status));
        return;
    }
    int number = WTERMSIG(wait_status);
    const char *core = WCOREDUMP(wait_status) ? " (core dumped)" : "";
    if ((size_t)number < ARRAY_SIZE(signal_words) && signal_words[number])
        snprintf(text, size, "signal: %s%s", signal_words[number], core);
    else
        snprintf(text, size, "signal: signal %d%s", number, core);
}

json_t *process_end_event(const struct process_end *how)
{
    char status[64];
    int wait_status = how->wait_status;
    describe(wait_status, status, sizeof status);
    int code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
    json_t *end = json_pack("{s:i, s:b, s:s}", "exitCode", code, "exited", WIFEXITED(wait_status),
                            "status", status);
    if (how->reason && how->reason != REASON_SIGNAL) {
        json_object_set_new(end, "error", json_sprintf("%s (%s)", status, how->message));
        json_object_set_new(end, "reason", json_string(process_reason_name(how->reason)));
        json_object_set_new(end, "message", json_string(how->message));
    } else if (code != 0) {
        json_object_set_new(end, "error", json_string(status));
    }
    return json_pack("{s:{s:o}}", "event", "end", end);
}
