/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find checkpoints whose disks are missing on their host, and copies on a host that belong to no
 * checkpoint. */
#include "dispatcher/sandbox_sweep.h"

#include <stdio.h>
#include <string.h>

#include "account/usage_kept.h"
#include "archive/archive.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "checkpoint/checkpoint_move.h"
#include "checkpoint/checkpoint_row.h"
#include "template/template_row.h"
#include "worker/sweep_failure.h"

#define STRAY_PATIENCE_MS 15000

struct vanishing {
    const char *id;
    uint32_t host_id;
    struct runtime *runtime;
    bool vanished, archived;
};

/* Fetch the disk from the archive, unless a fetch is already under way. */
static int fetch_again(struct db *db, const struct checkpoint *checkpoint, struct error **err)
{
    if (checkpoint_fetch_begin(db, checkpoint, err) == 0)
        return 0;
    return error_clear_if(err, ERR_SANDBOX_BUSY) ? 0 : -1;
}

/* Check a checkpoint with its row locked, so that it cannot be deleted meanwhile. */
static int vanishing_body(struct db *db, void *context, struct error **err)
{
    struct vanishing *vanishing = context;
    struct checkpoint checkpoint;
    enum runtime_status status;
    vanishing->vanished = false;
    if (checkpoint_get_any(db, vanishing->id, true, &checkpoint, err) < 0 ||
        vanishing->runtime->ops->inspect(vanishing->runtime, checkpoint.instance_name, &status,
                                         err) < 0)
        return -1;
    if ((checkpoint.state != CHECKPOINT_READY && checkpoint.state != CHECKPOINT_KEPT) ||
        checkpoint.host_id != vanishing->host_id || status != RUNTIME_ABSENT)
        return 0;
    vanishing->vanished = true;
    if (archive_has(db, vanishing->id, &vanishing->archived, err) < 0)
        return -1;
    if (vanishing->archived)
        return fetch_again(db, &checkpoint, err);
    if (checkpoint_row_deleting(db, vanishing->id, 0, err) < 0)
        return -1;
    return usage_kept_end(db, vanishing->id, err);
}

/* Delete each checkpoint whose disk is missing on its host, or fetch the disk if the archive has
 * it. */
static int sweep_rows(struct worker *worker, uint32_t host_id, struct runtime *runtime,
                      const struct runtime_listing *list, size_t count, struct error **err)
{
    autofree struct checkpoint *rows = NULL;
    unsigned row_count, failures = 0;
    if (checkpoint_row_on_host(worker->db, host_id, &rows, &row_count, err) < 0)
        return -1;
    size_t first = sweep_first(row_count);
    for (size_t n = 0; n < row_count && failures < SWEEP_FAILURES_MAX; n++) {
        size_t i = (first + n) % row_count;
        struct vanishing vanishing = {.id = rows[i].id, .host_id = host_id, .runtime = runtime};
        if (!runtime_listing_find(list, count, rows[i].instance_name) &&
            db_transaction(worker->db, vanishing_body, &vanishing, err) < 0) {
            if (!sweep_passes_over(&failures, rows[i].id, err))
                return -1;
            continue;
        }
        if (vanishing.vanished)
            log_warning(vanishing.archived ? "the disk of a checkpoint is missing on its host; the "
                                             "next use fetches it from the archive"
                                           : "the disk of a checkpoint is missing on its host",
                        LOG_STR("checkpoint", rows[i].id));
    }
    return 0;
}

struct stray {
    const char *instance_name;
    uint32_t host_id;
    struct runtime *runtime;
    bool removed;
};

/* Check whether a copy is on its checkpoint's host, or belongs to a move. With the row locked no
 * move can start. */
static int belongs_here(struct db *db, const struct stray *stray, bool *belongs, struct error **err)
{
    struct checkpoint checkpoint;
    struct move move;
    char id[ID_SIZE];
    *belongs = false;
    if (checkpoint_row_of_instance(db, stray->instance_name, id, err) < 0)
        return -1;
    if (!*id)
        return 0;
    if (checkpoint_get_any(db, id, true, &checkpoint, err) < 0)
        return -1;
    *belongs = checkpoint.host_id == stray->host_id;
    return *belongs ? 0 : move_find(db, id, &move, belongs, err);
}

static int stray_body(struct db *db, void *context, struct error **err)
{
    struct stray *stray = context;
    bool belongs;
    stray->removed = false;
    if (belongs_here(db, stray, &belongs, err) < 0)
        return -1;
    if (belongs)
        return 0;
    stray->removed = true;
    return stray->runtime->ops->destroy(stray->runtime, stray->instance_name, err);
}

/* Delete a copy that has moved away while its host did not answer or was lost. */
static int sweep_checkpoint(struct worker *worker, uint32_t host_id, struct runtime *runtime,
                            const char *name, struct error **err)
{
    struct stray stray = {name, host_id, runtime, false};
    bool known;
    if (checkpoint_row_uses_instance(worker->db, host_id, name, &known, err) < 0)
        return -1;
    if (known)
        return 0;
    runtime_limit(runtime, STRAY_PATIENCE_MS);
    int result = db_transaction(worker->db, stray_body, &stray, err);
    runtime_limit(runtime, 0);
    if (result == 0 && stray.removed)
        log_warning("deleting a copy on a host, because the database has no row for it",
                    LOG_STR("instance", name));
    return result;
}

static int sweep_copy(struct worker *worker, uint32_t host_id, struct runtime *runtime,
                      const struct runtime_listing *copy, struct error **err)
{
    bool known = true;
    char id[ID_SIZE];
    /* A younger copy may belong to a row that this sweep has not read. */
    int64_t grace_ms = 2 * (int64_t)worker->settings->lease_s * 1000;
    if (clock_now_ms() - copy->created_at_ms < grace_ms)
        return 0;
    if (str_starts_with(copy->name, "ckp-"))
        return sweep_checkpoint(worker, host_id, runtime, copy->name, err);
    if (str_starts_with(copy->name, "tpl-")) {
        snprintf(id, sizeof id, "tpv_%s", copy->name + strlen("tpl-"));
        if (id_is_valid("tpv_", id) && template_row_uses_source(worker->db, id, &known, err) < 0)
            return -1;
    }
    if (known)
        return 0;
    log_warning("deleting a copy on a host, because the database has no row for it",
                LOG_STR("instance", copy->name));
    return runtime->ops->destroy(runtime, copy->name, err);
}

static int sweep_copies(struct worker *worker, uint32_t host_id, struct runtime *runtime,
                        const struct runtime_listing *list, size_t count, struct error **err)
{
    unsigned failures = 0;
    size_t first = sweep_first(count);
    for (size_t n = 0; n < count && failures < SWEEP_FAILURES_MAX; n++) {
        const struct runtime_listing *copy = &list[(first + n) % count];
        if (sweep_copy(worker, host_id, runtime, copy, err) < 0 &&
            !sweep_passes_over(&failures, copy->name, err))
            return -1;
    }
    return 0;
}

int checkpoint_sweep_host(struct worker *worker, uint32_t host_id, struct runtime *runtime,
                          struct error **err)
{
    struct runtime_listing *list = NULL;
    size_t count = 0;
    if (runtime->ops->list_copies(runtime, &list, &count, err) < 0)
        return -1;
    int result = sweep_rows(worker, host_id, runtime, list, count, err);
    if (result == 0)
        result = sweep_copies(worker, host_id, runtime, list, count, err);
    runtime_listing_free(list, count);
    return result;
}
