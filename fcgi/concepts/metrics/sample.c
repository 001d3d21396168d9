/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metrics/sample.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "db/named_lease.h"
#include "host/host.h"
#include "network/firewall_client.h"
#include "sandbox/sandbox_events.h"
#include "sandbox/sandbox_row.h"

#define PURGE_ROWS 5000 /* of one statement */

#define WANTED_MS  30000 /* after the last request */
#define WANTED_MAX 10000
#define NEW_MS     (2 * SAMPLE_SOON_MS)
/* The time for which runtime_measure_ops.instances() may return the same numbers again. */
#define REPEATED_MS 10000

/* The last sample of a sandbox, for comparison with the next one. */
struct sample_last {
    char sandbox_id[ID_SIZE];
    char instance_name[INSTANCE_NAME_SIZE];
    uint32_t incarnation;
    bool virtual_machine;
    bool is_new;     /* sampled in this pass */
    uint64_t cpu_ms; /* the runtime's counter */
    int64_t seen_ms; /* monotonic */
    uint64_t span_ms, cpu_used_ms;
    uint64_t memory_bytes, cache_bytes;
    uint64_t disk_bytes;
    int64_t disk_seen_ms; /* monotonic; 0: never */
    char team_id[ID_SIZE], host_id[ID_SIZE];
    uint64_t memory_kills; /* the runtime's counter */
    uint64_t fresh_kills;  /* since the last sample */
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

/* The sandboxes to sample between rounds. */
struct wanted {
    sample_id *ids; /* sorted */
    size_t count;
    int64_t new_since_ms;
};

/* One pass over the sandboxes of a host. */
struct look {
    struct worker *worker;
    const struct wanted *wanted; /* NULL: all sandboxes */
    struct runtime *runtime;
    uint32_t host_id;
    struct sample_last *seen;
    size_t count;
    int64_t at_ms;
};

void sample_host_id(uint32_t host_id, char id[ID_SIZE])
{
    snprintf(id, ID_SIZE, "hst_%" PRIu32, host_id);
}

/* Return whether the runtime returned the numbers of its last answer again. */
static bool is_repeated(const struct sample_last *now, const struct sample_last *last)
{
    return now->seen_ms - last->seen_ms < REPEATED_MS && now->incarnation == last->incarnation &&
           now->cpu_ms == last->cpu_ms && now->memory_bytes == last->memory_bytes &&
           now->cache_bytes == last->cache_bytes;
}

/* Count the kills since the last sample. The counter starts with each run. A dispatcher that has
 * just started counts all kills of the run, and may report some again. */
static void count_kills(struct sample_last *now, const struct sample_last *last)
{
    bool same_run =
        last && now->incarnation == last->incarnation && now->memory_kills >= last->memory_kills;
    now->fresh_kills = now->memory_kills - (same_run ? last->memory_kills : 0);
}

/* Compute the processor time: the increase of the counter in the same run of the same instance. */
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
        .is_new = true,
        .virtual_machine = usage->virtual_machine,
        .cpu_ms = usage->cpu_ms,
        .seen_ms = clock_monotonic_ms(),
        .memory_bytes = usage->memory_bytes,
        .cache_bytes = usage->cache_bytes,
        .memory_kills = usage->memory_kills,
    };
    memcpy(now->team_id, ready->team_id, sizeof now->team_id);
    sample_host_id(look->host_id, now->host_id);
    memcpy(now->sandbox_id, ready->id, sizeof now->sandbox_id);
    memcpy(now->instance_name, ready->instance_name, sizeof now->instance_name);
    if (!sampler->count)
        return;
    const struct sample_last *last =
        bsearch(now, sampler->last, sampler->count, sizeof *now, last_by_id);
    count_kills(now, last);
    if (!last)
        return;
    compare(now, last);
    if (is_repeated(now, last)) {
        *now = *last;
        now->is_new = false;
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static bool is_wanted(const struct look *look, const struct sandbox_ready *ready)
{
    const struct wanted *wanted = look->wanted;
    if (!wanted || ready->created_at_ms >= wanted->new_since_ms)
        return true;
    return wanted->count &&
           bsearch(ready->id, wanted->ids, wanted->count, sizeof *wanted->ids, by_text);
}

/* Keep the last sample of a sandbox that this pass leaves out, for its next sample. */
static void keep_last(struct look *look, const struct sampler *sampler,
                      const struct sandbox_ready *ready)
{
    struct sample_last key;
    memcpy(key.sandbox_id, ready->id, sizeof key.sandbox_id);
    const struct sample_last *last =
        sampler->count ? bsearch(&key, sampler->last, sampler->count, sizeof key, last_by_id)
                       : NULL;
    if (!last)
        return;
    look->seen[look->count] = *last;
    look->seen[look->count++].is_new = false;
}

static void look_at_disks(struct look *look)
{
    autofree struct sample_last **order = xcalloc(look->count + 1, sizeof *order);
    size_t count = 0;
    for (size_t i = 0; i < look->count; i++)
        if (look->seen[i].is_new)
            order[count++] = &look->seen[i];
    qsort(order, count, sizeof *order, disk_by_age);
    for (size_t i = 0; i < count && i < SAMPLE_DISKS_MAX; i++) {
        error_auto failure = NULL; /* the sandbox may be deleted by now */
        if (look->runtime->ops->measure->disk(look->runtime, order[i]->instance_name,
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
    autofree struct sample_row *rows = xcalloc(look->count + 1, sizeof *rows);
    size_t count = 0;
    for (size_t i = 0; i < look->count; i++) {
        const struct sample_last *seen = &look->seen[i];
        if (!seen->is_new)
            continue;
        rows[count++] = (struct sample_row){
            .sandbox_id = seen->sandbox_id,
            .at_ms = look->at_ms,
            .span_ms = seen->span_ms,
            .cpu_ms = seen->cpu_used_ms,
            .memory_bytes = seen->memory_bytes,
            .cache_bytes = seen->cache_bytes,
            .disk_bytes = seen->disk_bytes,
            .has_disk = seen->disk_seen_ms,
        };
    }
    return sample_insert(db, rows, count, err);
}

/* Record the kills. A failure for one sandbox, which may be deleted by now, does not stop the
 * others. */
static void tell_kills(const struct look *look)
{
    for (size_t i = 0; i < look->count; i++) {
        const struct sample_last *seen = &look->seen[i];
        error_auto err = NULL;
        if (seen->is_new && seen->fresh_kills &&
            sandbox_tell_out_of_memory(look->worker->db, seen->team_id, seen->sandbox_id,
                                       seen->fresh_kills, &err) < 0)
            log_warning("cannot record that a sandbox is out of memory; the event is lost",
                        LOG_STR("sandbox", seen->sandbox_id), LOG_ERROR(err));
    }
}

static bool wants_any(const struct look *look, const struct sandbox_ready *ready, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_wanted(look, &ready[i]))
            return true;
    return false;
}

/* Return whether all these sandboxes were measured. usage: by name. */
static bool has_all(const struct runtime_usage *usage, size_t usage_count,
                    const struct sandbox_ready *ready, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct runtime_usage key = {.name = (char *)ready[i].instance_name};
        if (!usage_count || !bsearch(&key, usage, usage_count, sizeof *usage, usage_by_name))
            return false;
    }
    return true;
}

/* Measure the instances, ordered by name. The firewall reads their control groups, which takes a
 * tenth of the time that Incus takes. Incus alone knows virtual machines, and hosts whose firewall
 * is of an earlier version. */
static int measure(const struct look *look, const struct host *host,
                   const struct sandbox_ready *ready, size_t ready_count,
                   struct runtime_usage **usage, size_t *count, struct error **err)
{
    struct firewall *firewall = runtimes_firewall(look->worker->runtimes, host->id);
    error_auto ignored = NULL;
    if (firewall && firewall_usage(firewall, usage, count, &ignored) == 0) {
        if (*count)
            qsort(*usage, *count, sizeof **usage, usage_by_name);
        if (has_all(*usage, *count, ready, ready_count))
            return 0;
        runtime_usage_free(*usage, *count);
    }
    if (look->runtime->ops->measure->instances(look->runtime, usage, count, err) < 0)
        return -1;
    if (*count)
        qsort(*usage, *count, sizeof **usage, usage_by_name);
    return 0;
}

/* Read the ready sandboxes before the measurement. A sandbox that is resumed meanwhile has another
 * incarnation in the next pass, so it does not count as the same run. */
static int look_at_host(struct look *look, const struct sampler *sampler, const struct host *host,
                        struct error **err)
{
    struct worker *worker = look->worker;
    autofree struct sandbox_ready *ready = NULL;
    struct runtime_usage *usage = NULL;
    size_t ready_count, usage_count = 0;
    if (runtimes_of(worker->runtimes, worker->db, host, &look->runtime, err) < 0 ||
        sandbox_row_ready_on_host(worker->db, host->id, &ready, &ready_count, err) < 0)
        return -1;
    if (!ready_count)
        return 0;
    look->seen = xcalloc(ready_count, sizeof *look->seen);
    if (!wants_any(look, ready, ready_count)) {
        for (size_t i = 0; i < ready_count; i++)
            keep_last(look, sampler, &ready[i]);
        return 0;
    }
    if (measure(look, host, ready, ready_count, &usage, &usage_count, err) < 0)
        return -1;
    look->at_ms = clock_now_ms();
    for (size_t i = 0; usage_count && i < ready_count; i++) {
        const struct runtime_usage key = {.name = ready[i].instance_name};
        const struct runtime_usage *found =
            bsearch(&key, usage, usage_count, sizeof *usage, usage_by_name);
        if (found && is_wanted(look, &ready[i]))
            see(look, sampler, &ready[i], found);
        else if (found)
            keep_last(look, sampler, &ready[i]);
    }
    runtime_usage_free(usage, usage_count);
    tell_kills(look);
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
    const struct wanted *wanted;
    const struct sampler *last;
    struct sampler next;
};

static int sample_host(void *context, const struct host *host, struct error **err)
{
    struct round *round = context;
    struct look look = {.worker = round->worker, .wanted = round->wanted, .host_id = host->id};
    int result = look_at_host(&look, round->last, host, err);
    keep(&round->next, &look);
    free(look.seen);
    return result;
}

/* --- sums --- */

/* One sandbox in the sum of its host or its team. */
struct share {
    const char *subject; /* id of the host or the team */
    const struct sample_last *of;
};

static int by_subject(const void *a, const void *b)
{
    return strcmp(((const struct share *)a)->subject, ((const struct share *)b)->subject);
}

/* The processor time of a sum is that of so long a span: short ones cut small shares to nothing. */
#define SUM_SPAN_MS 100000

static void add_share(struct sample_row *sum, const struct sample_last *of)
{
    if (of->span_ms) {
        sum->span_ms = SUM_SPAN_MS;
        sum->cpu_ms += of->cpu_used_ms * SUM_SPAN_MS / of->span_ms;
    }
    sum->memory_bytes += of->memory_bytes;
    sum->cache_bytes += of->cache_bytes;
    sum->disk_bytes += of->disk_bytes;
    sum->has_disk = sum->has_disk || of->disk_seen_ms;
}

struct sums {
    struct sample_row *rows;
    size_t count;
};

static int insert_sums_body(struct db *db, void *context, struct error **err)
{
    const struct sums *sums = context;
    return sample_insert(db, sums->rows, sums->count, err);
}

/* Store the sums of a round. Those of a team lack the sandboxes of a host that did not answer. */
static int insert_sums(struct worker *worker, const struct sampler *round, struct error **err)
{
    size_t count = 2 * round->count;
    autofree struct share *shares = xcalloc(count + 1, sizeof *shares);
    autofree struct sample_row *rows = xcalloc(count + 1, sizeof *rows);
    struct sums sums = {.rows = rows};
    int64_t at_ms = clock_now_ms();
    for (size_t i = 0; i < count; i++) {
        const struct sample_last *of = &round->last[i / 2];
        shares[i] = (struct share){.subject = i % 2 ? of->host_id : of->team_id, .of = of};
    }
    qsort(shares, count, sizeof *shares, by_subject);
    for (size_t i = 0; i < count; i++) {
        if (!i || strcmp(shares[i - 1].subject, shares[i].subject) != 0)
            rows[sums.count++] =
                (struct sample_row){.sandbox_id = shares[i].subject, .at_ms = at_ms};
        add_share(&rows[sums.count - 1], shares[i].of);
    }
    return db_transaction(worker->db, insert_sums_body, &sums, err);
}

static int sample(struct worker *worker, struct sampler *sampler, const struct wanted *wanted,
                  struct error **err)
{
    struct round round = {.worker = worker, .wanted = wanted, .last = sampler};
    struct sampler *next = &round.next;
    bool ours;
    if (named_lease_take(worker->db, SAMPLE_LEASE, worker->lease_owner, &ours, err) < 0)
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
    return wanted ? 0 : insert_sums(worker, sampler, err);
}

int sample_round(struct worker *worker, struct sampler *sampler, struct error **err)
{
    return sample(worker, sampler, NULL, err);
}

int sample_soon(struct worker *worker, struct sampler *sampler, struct error **err)
{
    int64_t now_ms = clock_now_ms();
    struct wanted wanted = {.new_since_ms = now_ms - NEW_MS};
    if (sample_wanted(worker->db, now_ms - WANTED_MS, WANTED_MAX, &wanted.ids, &wanted.count, err) <
        0)
        return -1;
    int result = sample(worker, sampler, &wanted, err);
    free(wanted.ids);
    return result;
}

int sample_purge(struct worker *worker, bool *more, struct error **err)
{
    int64_t kept_ms = (int64_t)worker->settings->metrics_retention_h * 3600 * 1000;
    uint64_t removed;
    *more = false;
    if (sample_delete_wants_before(worker->db, clock_now_ms() - WANTED_MS, err) < 0 ||
        sample_delete_before(worker->db, clock_now_ms() - kept_ms, PURGE_ROWS, &removed, err) < 0)
        return -1;
    *more = removed == PURGE_ROWS;
    return 0;
}
