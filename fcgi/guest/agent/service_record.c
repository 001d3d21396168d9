/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/service_record.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/common/proc_file.h"
#include "agent/common/regular_file.h"
#include "agent/process/session_kill.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"

#define RECORD_FILE "/run/sandlot-services"
#define STOP_FILE   "/run/sandlot-stops"
#define RECORD_MAX  8192
#define STAT_MAX    1024
#define STOP_MS     5000
#define LOOK_MS     20

uint64_t service_record_start(pid_t pid)
{
    char path[32];
    unsigned long long ticks = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    autofree char *text = proc_file_read(path, STAT_MAX);
    const char *end = strrchr(text, ')'); /* the name before it may hold anything */
    if (end)
        sscanf(end + 1,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
               "%llu",
               &ticks);
    return ticks;
}

void service_records_write(const struct service_record records[], size_t count)
{
    unlink(RECORD_FILE);
    int fd = open(RECORD_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    autofclose FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    for (size_t i = 0; file && i < count; i++)
        fprintf(file, "%s %d %" PRIu64 " %d %d\n", records[i].name, (int)records[i].pid,
                records[i].start, records[i].over, records[i].stop_signal);
}

size_t service_records_read(struct service_record records[SERVICE_RECORDS_MAX])
{
    char text[RECORD_MAX + 1], *rest = text;
    size_t size, count = 0;
    regular_file_read(RECORD_FILE, text, RECORD_MAX, &size);
    text[size] = '\0';
    for (char *line; count < SERVICE_RECORDS_MAX && (line = strsep(&rest, "\n"));) {
        struct service_record *record = &records[count];
        int pid, over;
        if (sscanf(line, "%63s %d %" SCNu64 " %d %d", record->name, &pid, &record->start, &over,
                   &record->stop_signal) != 5 ||
            record->stop_signal < 1 || record->stop_signal > SIGRTMAX)
            continue;
        record->pid = pid;
        record->over = over;
        count++;
    }
    return count;
}

bool service_record_runs(const struct service_record *record)
{
    return record->pid > 1 && record->start && record->start == service_record_start(record->pid);
}

void service_records_stop(void)
{
    struct service_record records[SERVICE_RECORDS_MAX];
    size_t count = service_records_read(records);
    int64_t until_ms = clock_monotonic_ms() + STOP_MS;
    autoclose int fd = open(STOP_FILE, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    (void)fd;
    for (size_t i = 0; i < count; i++)
        if (!service_record_runs(&records[i]) ||
            session_signal(records[i].pid, records[i].stop_signal) < 0)
            records[i].pid = 0;
    for (size_t i = 0; i < count; i++)
        while (service_record_runs(&records[i]) && clock_monotonic_ms() < until_ms)
            clock_sleep_ms(LOOK_MS);
}

bool service_records_are_stopped(void)
{
    return access(STOP_FILE, F_OK) == 0;
}

void service_records_begin(void)
{
    unlink(STOP_FILE);
}
