/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/process/process_reason.h"

#include <ctype.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "agent/common/disk.h"
#include "base/guest_limits.h"
#include "base/mem.h"

/* A write that finds less free than it needs is refused as a whole. */
#define DISK_LEAST (4u << 20)
#define NAME_SIZE  17 /* of a program, as the kernel keeps it, with a newline */

static const char *const names[] = {
    [REASON_OUT_OF_MEMORY] = "out_of_memory",
    [REASON_PROCESS_LIMIT] = "process_limit",
    [REASON_DISK_FULL] = "disk_full",
    [REASON_TIME_LIMIT] = "time_limit",
    [REASON_SIGNAL] = "signal",
};

const char *process_reason_name(enum process_reason reason)
{
    return names[reason];
}

static void read_name(pid_t pid, char name[NAME_SIZE])
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    autofclose FILE *file = fopen(path, "re");
    if (!file || !fgets(name, NAME_SIZE, file))
        snprintf(name, NAME_SIZE, "the program");
    name[strcspn(name, "\n")] = '\0';
    for (char *c = name; *c; c++)
        if (!isprint((unsigned char)*c))
            *c = '?';
}

static void tell_memory(struct process_end *end, pid_t pid)
{
    char name[NAME_SIZE] = "", limit[28] = "its memory";
    bool itself = WIFSIGNALED(end->wait_status) && WTERMSIG(end->wait_status) == SIGKILL;
    uint64_t memory_mb = group_memory_mb();
    if (itself)
        read_name(pid, name);
    if (memory_mb)
        snprintf(limit, sizeof limit, "%" PRIu64 " MiB", memory_mb);
    end->reason = REASON_OUT_OF_MEMORY;
    snprintf(end->message, sizeof end->message,
             "out of memory: the kernel killed %s%s, because the sandbox had used up %s; create a "
             "sandbox with more memory_mb",
             itself ? name : "a process", itself ? "" : " of the sandbox", limit);
}

static void tell_processes(struct process_end *end)
{
    end->reason = REASON_PROCESS_LIMIT;
    snprintf(end->message, sizeof end->message,
             "process limit: the sandbox had %d processes and threads, the most that it can have; "
             "end some first",
             GUEST_PROCESSES_MAX);
}

static bool tell_disk(struct process_end *end)
{
    struct disk_usage usage;
    disk_measure(&usage);
    if (!usage.total_bytes || usage.used_bytes + DISK_LEAST <= usage.total_bytes)
        return false;
    end->reason = REASON_DISK_FULL;
    snprintf(end->message, sizeof end->message,
             "disk full: the sandbox has used all of its %" PRIu64 " MiB; delete files",
             usage.total_bytes >> 20);
    return true;
}

static void tell_signal(struct process_end *end)
{
    int number = WTERMSIG(end->wait_status);
    const char *name = sigabbrev_np(number);
    end->reason = REASON_SIGNAL;
    if (name)
        snprintf(end->message, sizeof end->message, "signal: SIG%s ended the program", name);
    else
        snprintf(end->message, sizeof end->message, "signal: signal %d ended the program", number);
}

void process_reason_time_limit(struct process_end *end)
{
    end->reason = REASON_TIME_LIMIT;
    snprintf(end->message, sizeof end->message,
             "time limit: the command reached its timeout, and its session was killed");
}

void process_reason_order(struct process_end *end)
{
    if (WIFSIGNALED(end->wait_status))
        tell_signal(end);
}

void process_reason_find(struct process_end *end, pid_t pid, const struct group_counts *before,
                         const struct group_counts *now)
{
    if (now->memory_kills > before->memory_kills)
        tell_memory(end, pid);
    else if (now->refused_forks > before->refused_forks)
        tell_processes(end);
    else if (!tell_disk(end) && WIFSIGNALED(end->wait_status))
        tell_signal(end);
}
