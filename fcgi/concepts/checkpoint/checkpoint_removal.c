/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remove checkpoints: deleted ones, and ones that were never finished. */
#include "checkpoint/checkpoint_removal.h"

#include "archive/archive.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "base/mem.h"
#include "checkpoint/checkpoint_row.h"

#define IN_USE_DELAY_MS 500

/* Drop the snapshot of a fork, and the memory snapshots that its sandboxes still have from their
 * start. */
static int drop_snapshots(struct worker *worker, struct runtime *runtime,
                          const struct checkpoint *checkpoint, struct error **err)
{
    autofree char(*names)[INSTANCE_NAME_SIZE] = NULL;
    unsigned count;
    if (checkpoint_row_made_from(worker->db, checkpoint->id, &names, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++)
        if (runtime->ops->memory->snapshot_drop(runtime, names[i], RUNTIME_MEMORY_SNAPSHOT, err) <
            0)
            return -1;
    return runtime->ops->memory->snapshot_drop(runtime, checkpoint->agent_instance,
                                               checkpoint->instance_name, err);
}

/* Remove the instance or snapshot. A lost host has nothing left to remove. */
static int remove_copy(struct worker *worker, const struct checkpoint *checkpoint,
                       struct error **err)
{
    struct runtime *runtime;
    if (runtimes_get(worker->runtimes, worker->db, checkpoint->host_id, &runtime, err) < 0)
        return error_clear_if(err, ERR_HOST_LOST) ? 0 : -1;
    return checkpoint->for_fork ? drop_snapshots(worker, runtime, checkpoint, err)
                                : runtime->ops->destroy(runtime, checkpoint->instance_name, err);
}

/* Remove the disk. The row says deleting, so no request uses it any more; wait for earlier uses to
 * end. *removed: the host has nothing of the checkpoint any more. */
static int remove_disk(struct worker *worker, const struct checkpoint *checkpoint, bool *removed,
                       struct error **err)
{
    bool in_use;
    *removed = false;
    if (checkpoint_row_in_use(worker->db, checkpoint->id, &in_use, err) < 0)
        return -1;
    if (in_use)
        return checkpoint_row_defer(worker->db, checkpoint->id, IN_USE_DELAY_MS, err);
    if (remove_copy(worker, checkpoint, err) < 0)
        return -1;
    fault_point(FAULT_CHECKPOINT_REMOVED);
    *removed = true;
    return checkpoint_row_deleted(worker->db, checkpoint->id, err);
}

struct deletion {
    const char *id;
    uint64_t lease_s;
    bool unless_archived, archived;
    struct checkpoint checkpoint;
};

static int delete_body(struct db *db, void *context, struct error **err)
{
    struct deletion *deletion = context;
    if (checkpoint_get_any(db, deletion->id, true, &deletion->checkpoint, err) < 0)
        return -1;
    if (deletion->checkpoint.state != CHECKPOINT_READY &&
        deletion->checkpoint.state != CHECKPOINT_KEPT)
        return error_set(err, ERR_NOT_FOUND, "There is no such checkpoint.");
    if (deletion->unless_archived && archive_has(db, deletion->id, &deletion->archived, err) < 0)
        return -1;
    return deletion->archived ? 0
                              : checkpoint_row_deleting(db, deletion->id, deletion->lease_s, err);
}

static int delete_one(struct worker *worker, struct deletion *deletion, struct error **err)
{
    error_auto failure = NULL;
    bool removed;
    if (db_transaction(worker->db, delete_body, deletion, err) < 0)
        return -1;
    if (deletion->archived)
        return 0;
    fault_point(FAULT_CHECKPOINT_DELETING);
    if (remove_disk(worker, &deletion->checkpoint, &removed, &failure) < 0)
        log_warning("cannot finish deleting a checkpoint; the dispatcher continues",
                    LOG_STR("checkpoint", deletion->id), LOG_ERROR(failure));
    return 0;
}

int checkpoint_delete(struct worker *worker, const char *id, struct error **err)
{
    struct deletion deletion = {.id = id, .lease_s = worker->settings->lease_s};
    return delete_one(worker, &deletion, err);
}

int checkpoint_lose(struct worker *worker, const char *id, bool *archived, struct error **err)
{
    struct deletion deletion = {
        .id = id, .lease_s = worker->settings->lease_s, .unless_archived = true};
    int result = delete_one(worker, &deletion, err);
    *archived = deletion.archived;
    return result;
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
