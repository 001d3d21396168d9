/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "checkpoint/checkpoint_move.h"

#include <string.h>

#include "checkpoint/checkpoint_row.h"
#include "host/host.h"

/* --- beginning --- */

static int begin(struct db *db, void *context, struct error **err)
{
    const struct move_order *order = context;
    struct checkpoint checkpoint;
    if (checkpoint_get_any(db, order->id, true, &checkpoint, err) < 0)
        return -1;
    if (checkpoint.state != CHECKPOINT_READY || checkpoint.virtual_machine)
        return error_set(err, ERR_NOT_FOUND, "There is no such checkpoint that can be moved.");
    struct move move = {
        .kind = MOVE_CHECKPOINT, .asked = order->asked, .from_host = checkpoint.host_id};
    const struct host_wanted wanted = {.from_host = checkpoint.host_id,
                                       .resources = order->resources};
    memcpy(move.id, checkpoint.id, sizeof move.id);
    memcpy(move.group_id, checkpoint.id, sizeof move.group_id);
    memcpy(move.team_id, checkpoint.team_id, sizeof move.team_id);
    if (host_target(db, &wanted, &move.to_host, err) < 0)
        return -1;
    if (!move.to_host)
        return error_set(err, ERR_NO_CAPACITY, "No other host has room for the checkpoint now.");
    return host_disk_reserve(db, move.to_host, 0, err) < 0 ? -1 : move_begin(db, &move, err);
}

const struct move_start checkpoint_move_start = {checkpoint_row_leaving, begin, 32};

/* --- moving --- */

static int copy(struct moving *moving, struct error **err)
{
    struct checkpoint checkpoint;
    const struct move *move = &moving->move;
    const struct runtime_receipt receipt = {move->id, move->attempts};
    if (checkpoint_get(moving->worker->db, move->id, &checkpoint, err) < 0)
        return -1;
    return moving->to->ops->receive_checkpoint(moving->to, moving->from, checkpoint.instance_name,
                                               &receipt, err);
}

/* The lock of its row orders this and who is about to make something from it. */
static int arrive(struct db *db, const struct moving *moving, bool *arrived, struct error **err)
{
    struct checkpoint checkpoint;
    const struct move *move = &moving->move;
    if (checkpoint_get_any(db, move->id, true, &checkpoint, err) < 0 ||
        checkpoint_row_rehost(db, move->id, move->from_host, move->to_host, err) < 0)
        return -1;
    *arrived = true;
    return move_clear_from(db, move->group_id, true, "", err);
}

static int clear(struct moving *moving, bool *cleared, struct error **err)
{
    const struct move *move = &moving->move;
    struct checkpoint checkpoint;
    struct runtime *runtime;
    bool in_use, lost;
    if (checkpoint_row_in_use_on(moving->worker->db, move->id, move->clear_host, &in_use, err) <
            0 ||
        checkpoint_get_any(moving->worker->db, move->id, false, &checkpoint, err) < 0)
        return -1;
    *cleared = false;
    if (in_use)
        return 0;
    if (moving_open_clear(moving, &runtime, &lost, err) < 0)
        return -1;
    *cleared = true;
    return lost ? 0 : runtime->ops->destroy(runtime, checkpoint.instance_name, err);
}

const struct mover checkpoint_mover = {copy, arrive, clear};
