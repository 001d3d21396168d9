/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET /metrics and GET /envs. The numbers are those of /proc, which shows the sandbox's own share
 * if the runtime mounts lxcfs over it. */
#include <string.h>

#include "agent/agent.h"
#include "agent/common/cpu_time.h"
#include "agent/common/disk.h"
#include "agent/common/proto.h"
#include "agent/handlers.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/meminfo.h"

/* Two readings of the processor's time that are closer than this say little. */
#define CPU_INTERVAL_MS 500

struct cpu_reading {
    struct cpu_time time;
    int64_t at_ms;
};

/* Of the time since the last question, over all processors. */
static double cpu_used_pct(const struct cpu_time *time)
{
    static struct cpu_reading last;
    static double used_pct;
    int64_t now_ms = clock_monotonic_ms();
    bool long_enough = now_ms - last.at_ms >= CPU_INTERVAL_MS;
    /* After a resume the counters may start at zero again. */
    if (long_enough && time->all > last.time.all && time->busy >= last.time.busy)
        used_pct =
            100.0 * (double)(time->busy - last.time.busy) / (double)(time->all - last.time.all);
    if (long_enough)
        last = (struct cpu_reading){*time, now_ms};
    return used_pct;
}

int metrics_finish(struct request *request, struct rpc_error *error)
{
    (void)error;
    struct cpu_time cpu;
    struct disk_usage disk;
    cpu_time_read(&cpu);
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
