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
#include "worker/hold.h"
#include "worker/sweep_failure.h"

#define STRAY_PATIENCE_MS 15000

struct vanishing {
    struct worker *worker;
    const char *id;
    uint32_t host_id;
    bool held, vanished, archived;
};

/* Fetch the disk from the archive, unless a fetch is already under way. */
static int fetch_again(struct db *db, const struct checkpoint *checkpoint, struct error **err)
{
    if (checkpoint_fetch_begin(db, checkpoint, err) == 0)
        return 0;
    return error_clear_if(err, ERR_SANDBOX_BUSY) ? 0 : -1;
}

static int lock_here(struct db *db, const struct vanishing *vanishing,
                     struct checkpoint *checkpoint, bool *is_here, struct error **err)
{
    if (checkpoint_get_any(db, vanishing->id, true, checkpoint, err) < 0)
        return -1;
    *is_here = (checkpoint->state == CHECKPOINT_READY || checkpoint->state == CHECKPOINT_KEPT) &&
               checkpoint->host_id == vanishing->host_id;
    return 0;
}

/* Hold the copy while the host is asked: a checkpoint that leaves meanwhile does not return. */
static int look_body(struct db *db, void *context, struct error **err)
{
    struct vanishing *vanishing = context;
    struct checkpoint checkpoint;
    if (lock_here(db, vanishing, &checkpoint, &vanishing->held, err) < 0)
        return -1;
    return vanishing->held ? hold_take(vanishing->worker, vanishing->host_id, vanishing->id,
                                       STRAY_PATIENCE_MS, err)
                           : 0;
}

/* Record that the copy is missing. The row is locked, so that it cannot be deleted meanwhile. */
static int vanishing_body(struct db *db, void *context, struct error **err)
{
    struct vanishing *vanishing = context;
    struct checkpoint checkpoint;
    if (lock_here(db, vanishing, &checkpoint, &vanishing->vanished, err) < 0)
        return -1;
    if (!vanishing->vanished)
        return 0;
    if (archive_has(db, vanishing->id, &vanishing->archived, err) < 0)
        return -1;
    if (vanishing->archived)
        return fetch_again(db, &checkpoint, err);
    if (checkpoint_row_deleting(db, vanishing->id, 0, err) < 0)
        return -1;
    return usage_kept_end(db, vanishing->id, err);
}

/* Check a checkpoint that the listing of its host does not have. */
static int check_missing(struct vanishing *vanishing, struct runtime *runtime,
                         const char *instance_name, struct error **err)
{
    struct worker *worker = vanishing->worker;
    enum runtime_status status;
    if (db_transaction(worker->db, look_body, vanishing, err) < 0)
        return hold_is_of_another(err) ? 0 : -1;
    if (!vanishing->held)
        return 0;
    runtime_limit(runtime, STRAY_PATIENCE_MS);
    int result = runtime->ops->inspect(runtime, instance_name, &status, err);
    runtime_limit(runtime, 0);
    if (result == 0 && status == RUNTIME_ABSENT)
        result = db_transaction(worker->db, vanishing_body, vanishing, err);
    hold_end(worker, vanishing->host_id, vanishing->id, NULL); /* the host changed nothing */
    return result;
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
        struct vanishing vanishing = {.worker = worker, .id = rows[i].id, .host_id = host_id};
        if (!runtime_listing_find(list, count, rows[i].instance_name) &&
            check_missing(&vanishing, runtime, rows[i].instance_name, err) < 0) {
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
    struct worker *worker;
    const char *instance_name;
    uint32_t host_id;
    char id[ID_SIZE]; /* of the checkpoint; "": none has the copy */
    bool belongs;
};

/* Check whether a copy is on its checkpoint's host, or belongs to a move. With the row locked no
 * move can start. */
static int belongs_here(struct db *db, struct stray *stray, struct error **err)
{
    struct checkpoint checkpoint;
    struct move move;
    stray->belongs = false;
    if (checkpoint_row_of_instance(db, stray->instance_name, stray->id, err) < 0)
        return -1;
    if (!*stray->id)
        return 0;
    if (checkpoint_get_any(db, stray->id, true, &checkpoint, err) < 0)
        return -1;
    stray->belongs = checkpoint.host_id == stray->host_id;
    return stray->belongs ? 0 : move_find(db, stray->id, &move, &stray->belongs, err);
}

/* Hold a copy that does not belong here, so that no move brings the checkpoint here. */
static int stray_body(struct db *db, void *context, struct error **err)
{
    struct stray *stray = context;
    if (belongs_here(db, stray, err) < 0)
        return -1;
    return stray->belongs || !*stray->id
               ? 0
               : hold_take(stray->worker, stray->host_id, stray->id, STRAY_PATIENCE_MS, err);
}

/* Delete a copy that has moved away while its host did not answer or was lost. */
static int sweep_checkpoint(struct worker *worker, uint32_t host_id, struct runtime *runtime,
                            const char *name, struct error **err)
{
    struct stray stray = {.worker = worker, .instance_name = name, .host_id = host_id};
    bool known;
    if (checkpoint_row_uses_instance(worker->db, host_id, name, &known, err) < 0)
        return -1;
    if (known)
        return 0;
    if (db_transaction(worker->db, stray_body, &stray, err) < 0)
        return hold_is_of_another(err) ? 0 : -1;
    if (stray.belongs)
        return 0;
    runtime_limit(runtime, STRAY_PATIENCE_MS);
    int result = runtime->ops->destroy(runtime, name, err);
    runtime_limit(runtime, 0);
    if (*stray.id)
        hold_end(worker, host_id, stray.id, result < 0 ? *err : NULL);
    if (result == 0)
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
