/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples: what running sandboxes use, seen from outside by the runtime. One process of all
 * dispatchers takes them. A sandbox that is paused has none, so a pause is a gap; processor time
 * counts from one sample to the next of the same run only, and where that is not known it is said
 * to be unknown.
 *
 * Each round takes one of everyone; between them samples are taken of those alone that somebody
 * waits for, as often as the cost of a look allows.
 *
 * Cost, measured on a machine of two cores: one call a host and round, 2.5 ms of the daemon's
 * processor time for each sandbox, and 4.5 ms for each disk that is looked at, which are at most
 * SAMPLE_DISKS_MAX a round; 100 bytes a row.
 */
#pragma once

#include "base/ulid.h"
#include "worker/worker.h"

/* Disks that one host is asked about in one round, those first that were seen longest ago. */
#define SAMPLE_DISKS_MAX 25

struct sample_last;

/* What the sampling process keeps from round to round. Zero-initialise. */
struct sampler {
    struct sample_last *last; /* by sandbox id */
    size_t count;
};
void sampler_deinit(struct sampler *sampler);

/* Take a sample of every sandbox that is ready. Of all dispatchers one does it, until its database
 * connection ends; for the others it is nothing. A host that does not answer is left out. */
int sample_round(struct worker *worker, struct sampler *sampler, struct error **err);

#define SAMPLE_SOON_MS 5000 /* between looks at those that somebody waits for */

/* The same of those alone whose samples were asked for lately, or that have just been created. */
int sample_soon(struct worker *worker, struct sampler *sampler, struct error **err);

/* Somebody asks for the samples of a sandbox: for a while they are taken by sample_soon(). Written
 * at most once in SAMPLE_SOON_MS. */
int sample_want(struct db *db, const char *sandbox_id, struct error **err);

/* Remove what is older than the settings say, in pieces. *more: there may be more of it. */
int sample_purge(struct worker *worker, bool *more, struct error **err);

/* One sample, or what several come to. */
struct sample_point {
    int64_t at_ms;
    bool has_cpu, has_disk;
    double vcpus, vcpus_max; /* mean over the time between samples, and the highest such mean */
    uint64_t memory_bytes, memory_bytes_max, cache_bytes;
    uint64_t disk_bytes; /* the highest */
};

#define SAMPLE_POINTS_MAX 500

/* At most SAMPLE_POINTS_MAX points from from_ms to to_ms, by time. *step_ms: 0 when they are the
 * samples themselves, else the length of the pieces of time that one point stands for, whose
 * beginning is its time; a piece without a sample has no point. The caller frees *points. */
int sample_read(struct db *db, const char *sandbox_id, int64_t from_ms, int64_t to_ms,
                struct sample_point **points, size_t *count, int64_t *step_ms, struct error **err);

/* --- rows; for sample.c --- */

struct sample_row {
    const char *sandbox_id;
    int64_t at_ms;
    uint64_t span_ms, cpu_ms; /* 0: not known */
    uint64_t memory_bytes, cache_bytes, disk_bytes;
    bool has_disk;
};
/* Some hundred rows a statement. */
int sample_insert(struct db *db, const struct sample_row *rows, size_t count, struct error **err);

/* Who was asked for since then, by id; the caller frees. */
typedef char sample_id[ID_SIZE];
int sample_wanted(struct db *db, int64_t since_ms, sample_id **ids, size_t *count,
                  struct error **err);
int sample_delete_wants_before(struct db *db, int64_t at_ms, struct error **err);

/* Remove at most limit rows that are older. */
int sample_delete_before(struct db *db, int64_t at_ms, uint64_t limit, uint64_t *removed,
                         struct error **err);

/* Of the process that takes the samples. */
#define SAMPLE_LEASE "samples"
