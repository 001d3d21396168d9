/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/process/session_kill.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* A process can fork between two passes, but not after SIGKILL is pending for it. So each pass
 * finds the children that the previous one missed. The depth of such a chain is small. */
#define PASSES_MAX 16

/* "PID (NAME) STATE PPID PGRP SESSION …": a name may hold anything, so the last ')' counts. */
static pid_t session_of(int folder, const char *pid, char *state)
{
    char path[64], text[512];
    int group, session;
    snprintf(path, sizeof path, "%.32s/stat", pid);
    autoclose int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (size < 0)
        return -1;
    text[size] = '\0';
    const char *end = strrchr(text, ')');
    if (!end || sscanf(end + 1, " %c %*d %d %d", state, &group, &session) != 3)
        return -1;
    return session;
}

/* Whether the kernel has yet to act on a SIGKILL that was sent before. */
static bool is_killed(int folder, const char *pid)
{
    char path[64], text[4096];
    unsigned long long own = 0, shared = 0;
    snprintf(path, sizeof path, "%.32s/status", pid);
    autoclose int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (size < 0)
        return true; /* it is gone */
    text[size] = '\0';
    const char *at = strstr(text, "\nSigPnd:");
    const char *group = strstr(text, "\nShdPnd:");
    if (!at || !group || sscanf(at, "\nSigPnd: %llx", &own) != 1 ||
        sscanf(group, "\nShdPnd: %llx", &shared) != 1)
        return false;
    return ((own | shared) >> (SIGKILL - 1)) & 1;
}

/* Returns whether any was found that was not killed before. */
static bool kill_members(DIR *processes, pid_t leader)
{
    bool found = false;
    rewinddir(processes);
    for (const struct dirent *entry; (entry = readdir(processes));) {
        char state;
        if (*entry->d_name < '1' || *entry->d_name > '9' ||
            session_of(dirfd(processes), entry->d_name, &state) != leader || state == 'Z' ||
            state == 'X' || is_killed(dirfd(processes), entry->d_name))
            continue;
        kill((pid_t)strtol(entry->d_name, NULL, 10), SIGKILL);
        found = true;
    }
    return found;
}

void session_kill(pid_t leader)
{
    DIR *processes = opendir("/proc");
    kill(-leader, SIGKILL);
    for (int i = 0; processes && i < PASSES_MAX && kill_members(processes, leader); i++)
        ;
    if (processes)
        closedir(processes);
}

static bool is_for_group(int number)
{
    return number == SIGTERM || number == SIGINT || number == SIGQUIT || number == SIGHUP;
}

int session_signal(pid_t leader, int number)
{
    return kill(is_for_group(number) ? -leader : leader, number);
}
