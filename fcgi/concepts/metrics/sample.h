/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples: the resources that running sandboxes use, measured from outside by the runtime. One
 * process among all dispatchers takes them. A paused sandbox has no samples, so a pause is a gap.
 * Processor time counts only from one sample to the next of the same run; otherwise it is stored as
 * unknown.
 *
 * Each round samples all running sandboxes. Between rounds only the sandboxes whose samples were
 * asked for are sampled, as often as the cost allows.
 *
 * Cost, measured on a machine with two cores: one call for each host and round. For each sandbox
 * the daemon takes 2.5 ms of processor time. For each disk that is measured it takes 4.5 ms, for at
 * most SAMPLE_DISKS_MAX in a round. A row takes 100 bytes.
 */
#pragma once

#include "base/ulid.h"
#include "worker/worker.h"

/* The most disks of one host that a round measures. Those measured longest ago come first. */
#define SAMPLE_DISKS_MAX 25

struct sample_last;

/* The sampling process keeps this between rounds. Initialise it with zeros. */
struct sampler {
    struct sample_last *last; /* by sandbox id */
    size_t count;
};
void sampler_deinit(struct sampler *sampler);

/* Take a sample of every ready sandbox. Only the dispatcher that holds the lease SAMPLE_LEASE does
 * so; in all others this does nothing. A host that does not answer is left out. */
int sample_round(struct worker *worker, struct sampler *sampler, struct error **err);

#define SAMPLE_SOON_MS 5000 /* between samples of sandboxes that were asked for */

/* Take samples as sample_round() does, but only of sandboxes that were asked for lately or have
 * just been created. */
int sample_soon(struct worker *worker, struct sampler *sampler, struct error **err);

/* Note that a request wants a sandbox's samples, so that sample_soon() takes them for a while.
 * Written at most once in SAMPLE_SOON_MS. */
int sample_want(struct db *db, const char *sandbox_id, struct error **err);

/* Delete samples that are older than the settings keep, in batches. *more: there may be further
 * ones. */
int sample_purge(struct worker *worker, bool *more, struct error **err);

/* One sample, or the summary of several. */
struct sample_point {
    int64_t at_ms;
    bool has_cpu, has_disk;
    double vcpus, vcpus_max; /* mean over the time between samples, and the highest such mean */
    uint64_t memory_bytes, memory_bytes_max, cache_bytes;
    uint64_t disk_bytes; /* the highest value */
};

#define SAMPLE_POINTS_MAX 500

/* Read at most SAMPLE_POINTS_MAX points from from_ms to to_ms, in order. *step_ms 0: the points are
 * the samples. Otherwise each point summarises a piece of time of this length, and has the time of
 * the piece's start. A piece without samples has no point. The caller frees *points. */
int sample_read(struct db *db, const char *sandbox_id, int64_t from_ms, int64_t to_ms,
                struct sample_point **points, size_t *count, int64_t *step_ms, struct error **err);

/* Write the id by which sample_read() reads the sums of a host. Each round also stores the sums of
 * the sandboxes of each host and of each team, as samples. Those of a team have the team's id. */
void sample_host_id(uint32_t host_id, char id[ID_SIZE]);

/* The last sample of a running sandbox. */
struct sample_latest {
    char sandbox_id[ID_SIZE];
    struct sample_point point;
};
#define SAMPLE_LATEST_MAX 100 /* sandboxes at once */
/* Read the last samples since since_ms of those sandboxes of a team that the JSON array ids names;
 * at most SAMPLE_LATEST_MAX. */
int sample_read_latest(struct db *db, const char *team_id, const char *ids, int64_t since_ms,
                       struct sample_latest *latest, unsigned *count, struct error **err);

/* Read the time of the last sample of a running sandbox or of its host, in the sandbox's usage
 * interval; 0: none. The host's count too, because a tenant may prevent the sandbox's own. */
int sample_last_of_run(struct db *db, const char *sandbox_id, uint32_t host_id, int64_t *at_ms,
                       struct error **err);

/* --- rows; for sample.c --- */

struct sample_row {
    const char *sandbox_id;
    int64_t at_ms;
    uint64_t span_ms, cpu_ms; /* 0: unknown */
    uint64_t memory_bytes, cache_bytes, disk_bytes;
    bool has_disk;
};
/* Insert samples, some hundred in each statement. */
int sample_insert(struct db *db, const struct sample_row *rows, size_t count, struct error **err);

/* List the running sandboxes that were asked for since since_ms, at most limit, by id. The teams
 * take turns. The caller frees the array. */
typedef char sample_id[ID_SIZE];
int sample_wanted(struct db *db, int64_t since_ms, unsigned limit, sample_id **ids, size_t *count,
                  struct error **err);
int sample_delete_wants_before(struct db *db, int64_t at_ms, struct error **err);

/* Delete at most limit rows that are older than at_ms. */
int sample_delete_before(struct db *db, int64_t at_ms, uint64_t limit, uint64_t *removed,
                         struct error **err);

/* The lease of the process that takes the samples. */
#define SAMPLE_LEASE "samples"
