/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metrics/sample.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/host.h"
#include "sandbox/sandbox_row.h"

#define PURGE_ROWS 5000 /* in one statement */

/* What a sample is compared with when the next one comes. */
struct sample_last {
    char sandbox_id[ID_SIZE];
    char instance_name[INSTANCE_NAME_SIZE];
    uint32_t incarnation;
    bool virtual_machine;
    uint64_t cpu_ms; /* the counter */
    int64_t seen_ms; /* monotonic */
    uint64_t span_ms, cpu_used_ms;
    uint64_t memory_bytes, cache_bytes;
    uint64_t disk_bytes;
    int64_t disk_seen_ms; /* monotonic; 0: never */
};

static int last_by_id(const void *a, const void *b)
{
    return strcmp(((const struct sample_last *)a)->sandbox_id,
                  ((const struct sample_last *)b)->sandbox_id);
}

static int usage_by_name(const void *a, const void *b)
{
    return strcmp(((const struct runtime_usage *)a)->name, ((const struct runtime_usage *)b)->name);
}

static int disk_by_age(const void *a, const void *b)
{
    int64_t left = (*(struct sample_last *const *)a)->disk_seen_ms;
    int64_t right = (*(struct sample_last *const *)b)->disk_seen_ms;
    return (left > right) - (left < right);
}

void sampler_deinit(struct sampler *sampler)
{
    free(sampler->last);
    *sampler = (struct sampler){0};
}

/* A look at every sandbox of one host. */
struct look {
    struct worker *worker;
    struct runtime *runtime;
    struct sample_last *seen;
    size_t count;
    int64_t at_ms;
};

/* Processor time is what the counter gained in the same run of the same instance. */
static void compare(struct sample_last *now, const struct sample_last *last)
{
    now->disk_bytes = last->disk_bytes;
    now->disk_seen_ms = last->disk_seen_ms;
    if (now->incarnation != last->incarnation || now->cpu_ms < last->cpu_ms ||
        strcmp(now->instance_name, last->instance_name) != 0)
        return;
    now->span_ms = (uint64_t)(now->seen_ms - last->seen_ms);
    now->cpu_used_ms = now->cpu_ms - last->cpu_ms;
}

static void see(struct look *look, const struct sampler *sampler, const struct sandbox_ready *ready,
                const struct runtime_usage *usage)
{
    struct sample_last *now = &look->seen[look->count++];
    *now = (struct sample_last){
        .incarnation = ready->incarnation,
        .virtual_machine = usage->virtual_machine,
        .cpu_ms = usage->cpu_ms,
        .seen_ms = clock_monotonic_ms(),
        .memory_bytes = usage->memory_bytes,
        .cache_bytes = usage->cache_bytes,
    };
    memcpy(now->sandbox_id, ready->id, sizeof now->sandbox_id);
    memcpy(now->instance_name, ready->instance_name, sizeof now->instance_name);
    if (!sampler->count)
        return;
    const struct sample_last *last =
        bsearch(now, sampler->last, sampler->count, sizeof *now, last_by_id);
    if (last)
        compare(now, last);
}

static void look_at_disks(struct look *look)
{
    autofree struct sample_last **order = xcalloc(look->count + 1, sizeof *order);
    for (size_t i = 0; i < look->count; i++)
        order[i] = &look->seen[i];
    qsort(order, look->count, sizeof *order, disk_by_age);
    for (size_t i = 0; i < look->count && i < SAMPLE_DISKS_MAX; i++) {
        error_auto failure = NULL; /* it may be gone by now */
        if (look->runtime->ops->measure_disk(look->runtime, order[i]->instance_name,
                                             order[i]->virtual_machine, &order[i]->disk_bytes,
                                             &failure) == 0)
            order[i]->disk_seen_ms = clock_monotonic_ms();
        else if (failure->code == ERR_RUNTIME_UNAVAILABLE)
            return;
    }
}

static int insert_body(struct db *db, void *context, struct error **err)
{
    const struct look *look = context;
    for (size_t i = 0; i < look->count; i++) {
        const struct sample_last *seen = &look->seen[i];
        const struct sample_row row = {
            .sandbox_id = seen->sandbox_id,
            .at_ms = look->at_ms,
            .span_ms = seen->span_ms,
            .cpu_ms = seen->cpu_used_ms,
            .memory_bytes = seen->memory_bytes,
            .cache_bytes = seen->cache_bytes,
            .disk_bytes = seen->disk_bytes,
            .has_disk = seen->disk_seen_ms,
        };
        if (sample_insert(db, &row, err) < 0)
            return -1;
    }
    return 0;
}

/* Which sandboxes are ready is read first: one that is resumed meanwhile has another incarnation
 * at the next look, and is not taken for the same run. */
static int look_at_host(struct look *look, const struct sampler *sampler, uint32_t host_id,
                        struct error **err)
{
    struct worker *worker = look->worker;
    autofree struct sandbox_ready *ready = NULL;
    struct runtime_usage *usage = NULL;
    size_t ready_count, usage_count = 0;
    if (runtimes_get(worker->runtimes, worker->db, host_id, &look->runtime, err) < 0 ||
        sandbox_row_ready_on_host(worker->db, host_id, &ready, &ready_count, err) < 0)
        return -1;
    if (!ready_count)
        return 0;
    if (look->runtime->ops->measure(look->runtime, &usage, &usage_count, err) < 0)
        return -1;
    look->at_ms = clock_now_ms();
    look->seen = xcalloc(ready_count, sizeof *look->seen);
    if (usage_count)
        qsort(usage, usage_count, sizeof *usage, usage_by_name);
    for (size_t i = 0; usage_count && i < ready_count; i++) {
        const struct runtime_usage key = {.name = ready[i].instance_name};
        const struct runtime_usage *found =
            bsearch(&key, usage, usage_count, sizeof *usage, usage_by_name);
        if (found)
            see(look, sampler, &ready[i], found);
    }
    runtime_usage_free(usage, usage_count);
    look_at_disks(look);
    return db_transaction(worker->db, insert_body, look, err);
}

static void keep(struct sampler *next, const struct look *look)
{
    if (!look->count)
        return;
    next->last = xreallocarray(next->last, next->count + look->count, sizeof *next->last);
    memcpy(next->last + next->count, look->seen, look->count * sizeof *look->seen);
    next->count += look->count;
}

struct round {
    struct worker *worker;
    const struct sampler *last;
    struct sampler next;
};

static int sample_host(void *context, const struct host *host, struct error **err)
{
    struct round *round = context;
    struct look look = {.worker = round->worker};
    int result = look_at_host(&look, round->last, host->id, err);
    keep(&round->next, &look);
    free(look.seen);
    return result;
}

int sample_round(struct worker *worker, struct sampler *sampler, struct error **err)
{
    struct round round = {.worker = worker, .last = sampler};
    struct sampler *next = &round.next;
    bool ours;
    if (sample_lock(worker->db, &ours, err) < 0)
        return -1;
    if (!ours) {
        sampler_deinit(sampler);
        return 0;
    }
    if (hosts_each(worker->db, sample_host, &round, "cannot sample the sandboxes of a host", err) <
        0)
        return -1;
    if (next->count)
        qsort(next->last, next->count, sizeof *next->last, last_by_id);
    sampler_deinit(sampler);
    *sampler = *next;
    return 0;
}

int sample_purge(struct worker *worker, bool *more, struct error **err)
{
    int64_t kept_ms = (int64_t)worker->settings->metrics_retention_h * 3600 * 1000;
    uint64_t removed;
    *more = false;
    if (sample_delete_before(worker->db, clock_now_ms() - kept_ms, PURGE_ROWS, &removed, err) < 0)
        return -1;
    *more = removed == PURGE_ROWS;
    return 0;
}
