/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of checkpoints: deleted ones, and ones that were never finished. */
#include <stdio.h>
#include <string.h>

#include "account/usage_kept.h"
#include "base/clock.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "checkpoint/checkpoint_row.h"
#include "sandbox/lifecycle_steps.h"
#include "template/template_row.h"

#define IN_USE_DELAY_MS 500

/* Its row says that it is being deleted, so nothing more begins with it; what has begun is waited
 * for. *removed: whether nothing is left of it. */
static int remove_disk(struct worker *worker, const struct checkpoint *checkpoint, bool *removed,
                       struct error **err)
{
    struct runtime *runtime;
    bool in_use;
    *removed = false;
    if (checkpoint_row_in_use(worker->db, checkpoint->id, &in_use, err) < 0)
        return -1;
    if (in_use)
        return checkpoint_row_defer(worker->db, checkpoint->id, IN_USE_DELAY_MS, err);
    if (runtimes_get(worker->runtimes, worker->db, checkpoint->host_id, &runtime, err) < 0 ||
        runtime->ops->destroy(runtime, checkpoint->instance_name, err) < 0)
        return -1;
    fault_point(FAULT_CHECKPOINT_REMOVED);
    *removed = true;
    return checkpoint_row_deleted(worker->db, checkpoint->id, err);
}

struct deletion {
    const char *id;
    uint64_t lease_s;
    struct checkpoint checkpoint;
};

static int delete_body(struct db *db, void *context, struct error **err)
{
    struct deletion *deletion = context;
    if (checkpoint_get_any(db, deletion->id, true, &deletion->checkpoint, err) < 0)
        return -1;
    if (strcmp(deletion->checkpoint.state, "ready") != 0)
        return error_set(err, ERR_NOT_FOUND, "There is no such checkpoint.");
    if (checkpoint_row_deleting(db, deletion->id, deletion->lease_s, err) < 0)
        return -1;
    return usage_kept_end(db, deletion->id, err);
}

int checkpoint_delete(struct worker *worker, const char *id, struct error **err)
{
    struct deletion deletion = {.id = id, .lease_s = worker->settings->lease_s};
    error_auto failure = NULL;
    bool removed;
    if (db_transaction(worker->db, delete_body, &deletion, err) < 0)
        return -1;
    fault_point(FAULT_CHECKPOINT_DELETING);
    if (remove_disk(worker, &deletion.checkpoint, &removed, &failure) < 0)
        log_warning("checkpoint removal goes on in the background", LOG_STR("checkpoint", id),
                    LOG_ERROR(failure));
    return 0;
}

struct taking {
    uint64_t lease_s;
    struct checkpoint checkpoint;
};

static int take_body(struct db *db, void *context, struct error **err)
{
    struct taking *taking = context;
    return checkpoint_row_take_deleting(db, taking->lease_s, &taking->checkpoint, err);
}

int checkpoint_remove_next(struct worker *worker, bool *worked, struct error **err)
{
    struct taking taking = {.lease_s = worker->settings->lease_s};
    *worked = false;
    if (checkpoint_row_abandon(worker->db, err) < 0 ||
        db_transaction(worker->db, take_body, &taking, err) < 0)
        return -1;
    if (!taking.checkpoint.id[0])
        return 0;
    return remove_disk(worker, &taking.checkpoint, worked, err);
}

/* --- the sweep --- */

struct vanishing {
    const char *id;
    struct runtime *runtime;
    bool vanished;
};

/* With the row locked nobody deletes it meanwhile. */
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
    if (strcmp(checkpoint.state, "ready") != 0 || status != RUNTIME_ABSENT)
        return 0;
    vanishing->vanished = true;
    if (checkpoint_row_deleting(db, vanishing->id, 0, err) < 0)
        return -1;
    return usage_kept_end(db, vanishing->id, err);
}

/* A checkpoint whose disk is not on its host any more is none. */
static int sweep_rows(struct worker *worker, uint32_t host_id, struct runtime *runtime,
                      const struct runtime_listing *list, size_t count, struct error **err)
{
    autofree struct checkpoint *rows = NULL;
    unsigned row_count;
    if (checkpoint_row_on_host(worker->db, host_id, &rows, &row_count, err) < 0)
        return -1;
    for (unsigned i = 0; i < row_count; i++) {
        struct vanishing vanishing = {rows[i].id, runtime, false};
        if (!runtime_listing_find(list, count, rows[i].instance_name) &&
            db_transaction(worker->db, vanishing_body, &vanishing, err) < 0)
            return -1;
        if (vanishing.vanished)
            log_warning("disk of a checkpoint is gone from its host",
                        LOG_STR("checkpoint", rows[i].id));
    }
    return 0;
}

static int sweep_copy(struct worker *worker, struct runtime *runtime,
                      const struct runtime_listing *copy, struct error **err)
{
    bool known = true;
    char id[ID_SIZE];
    /* A younger one may belong to a row not seen yet. */
    int64_t grace_ms = 2 * (int64_t)worker->settings->lease_s * 1000;
    if (clock_now_ms() - copy->created_at_ms < grace_ms)
        return 0;
    if (str_starts_with(copy->name, "ckp-") &&
        checkpoint_row_uses_instance(worker->db, copy->name, &known, err) < 0)
        return -1;
    if (str_starts_with(copy->name, "tpl-")) {
        snprintf(id, sizeof id, "tpv_%s", copy->name + strlen("tpl-"));
        if (id_is_valid("tpv_", id) && template_row_uses_source(worker->db, id, &known, err) < 0)
            return -1;
    }
    if (known)
        return 0;
    log_warning("removing an orphaned copy", LOG_STR("instance", copy->name));
    return runtime->ops->destroy(runtime, copy->name, err);
}

int checkpoint_sweep_host(struct worker *worker, uint32_t host_id, struct runtime *runtime,
                          struct error **err)
{
    struct runtime_listing *list = NULL;
    size_t count = 0;
    if (runtime->ops->list_copies(runtime, &list, &count, err) < 0)
        return -1;
    int result = sweep_rows(worker, host_id, runtime, list, count, err);
    for (size_t i = 0; i < count && result == 0; i++)
        result = sweep_copy(worker, runtime, &list[i], err);
    runtime_listing_free(list, count);
    return result;
}
