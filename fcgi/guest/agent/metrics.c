/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET /metrics and GET /envs. The numbers are those of /proc, which shows the sandbox's own share
 * if the runtime mounts lxcfs over it. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/common/disk.h"
#include "agent/common/proto.h"
#include "agent/handlers.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/meminfo.h"
#include "base/str.h"

/* Two readings of the processor's time that are closer than this say little. */
#define CPU_INTERVAL_MS 500

#define STAT_SIZE       (64 * 1024)

struct cpu_reading {
    uint64_t busy, all;
    unsigned count;
    int64_t at_ms;
};

static char *read_stat(void)
{
    autoclose int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    char *text = xcalloc(1, STAT_SIZE);
    size_t size = 0;
    ssize_t got;
    while (fd >= 0 && size < STAT_SIZE - 1 &&
           (got = read(fd, text + size, STAT_SIZE - 1 - size)) > 0)
        size += (size_t)got;
    return text;
}

static void read_cpu(struct cpu_reading *reading)
{
    uint64_t t[8] = {0}; /* user nice system idle iowait irq softirq steal */
    autofree char *text = read_stat();
    *reading = (struct cpu_reading){.at_ms = clock_monotonic_ms()};
    if (sscanf(text,
               "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64 " %" SCNu64,
               &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) < 4)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(t); i++)
        reading->all += t[i];
    reading->busy = reading->all - t[3] - t[4];
    for (const char *line = text; (line = strstr(line, "\ncpu")); line++)
        reading->count++;
}

/* Of the time since the last question, over all processors. */
static double cpu_used_pct(struct cpu_reading *now)
{
    static struct cpu_reading last;
    static double used_pct;
    read_cpu(now);
    bool long_enough = now->at_ms - last.at_ms >= CPU_INTERVAL_MS;
    /* After a resume the counters may start at zero again. */
    if (long_enough && now->all > last.all && now->busy >= last.busy)
        used_pct = 100.0 * (double)(now->busy - last.busy) / (double)(now->all - last.all);
    if (long_enough)
        last = *now;
    return used_pct;
}

int metrics_finish(struct request *request, struct rpc_error *error)
{
    (void)error;
    struct cpu_reading cpu;
    struct disk_usage disk;
    double used_pct = cpu_used_pct(&cpu);
    struct meminfo memory;
    meminfo_read(&memory);
    disk_measure(&disk);
    json_int_t total = (json_int_t)memory.total, idle = (json_int_t)memory.available;
    return httpd_reply_json(
        &request->http, 200,
        json_pack("{s:I, s:i, s:f, s:I, s:I, s:I, s:I, s:I}", "ts",
                  (json_int_t)(clock_now_ms() / 1000), "cpu_count", (int)cpu.count, "cpu_used_pct",
                  used_pct, "mem_total", total, "mem_used", total > idle ? total - idle : 0,
                  "mem_cache", (json_int_t)memory.cached, "disk_used", (json_int_t)disk.used_bytes,
                  "disk_total", (json_int_t)disk.total_bytes));
}

int envs_finish(struct request *request, struct rpc_error *error)
{
    (void)error;
    const struct environment *environment = &request->agent->environment;
    json_t *envs = json_object();
    for (size_t i = 0; i < environment->count; i++) {
        const char *entry = environment->entries[i];
        autofree char *name = xstrndup(entry, strcspn(entry, "="));
        json_object_set_new(envs, name, proto_text(entry + strlen(name) + 1));
    }
    return httpd_reply_json(&request->http, 200, envs);
}
