/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "checkpoint/checkpoint_move.h"

#include <string.h>

#include "archive/archive_work.h"
#include "base/notify.h"
#include "checkpoint/checkpoint_row.h"
#include "host/host.h"
#include "worker/hold.h"

/* --- starting --- */

/* Check that a checkpoint of a lost host is in the archive. */
static int check_origin(struct db *db, const struct checkpoint *checkpoint, struct error **err)
{
    bool lost, archived;
    if (host_is_lost(db, checkpoint->host_id, &lost, err) < 0 ||
        archive_has(db, checkpoint->id, &archived, err) < 0)
        return -1;
    return !lost || archived ? 0
                             : error_set(err, ERR_NOT_FOUND,
                                         "The checkpoint's host is lost, and the archive has no "
                                         "copy of the checkpoint.");
}

static int begin(struct db *db, void *context, struct error **err)
{
    const struct move_order *order = context;
    struct checkpoint checkpoint;
    if (checkpoint_get_any(db, order->id, true, &checkpoint, err) < 0)
        return -1;
    if ((checkpoint.state != CHECKPOINT_READY && checkpoint.state != CHECKPOINT_KEPT) ||
        checkpoint.virtual_machine)
        return error_set(err, ERR_NOT_FOUND, "There is no such checkpoint, or it cannot be moved.");
    if (check_origin(db, &checkpoint, err) < 0)
        return -1;
    struct move move = {
        .kind = MOVE_CHECKPOINT, .asked = order->asked, .from_host = checkpoint.host_id};
    const struct host_wanted wanted = {.from_host = checkpoint.host_id,
                                       .only_host = order->only_host,
                                       .resources = order->resources};
    memcpy(move.id, checkpoint.id, sizeof move.id);
    memcpy(move.group_id, checkpoint.id, sizeof move.group_id);
    memcpy(move.team_id, checkpoint.team_id, sizeof move.team_id);
    if (host_target(db, &wanted, &move.to_host, err) < 0)
        return -1;
    if (!move.to_host)
        return error_set(err, ERR_NO_CAPACITY, "No other host has room for the checkpoint now.");
    if (hold_check(db, move.to_host, checkpoint.id, err) < 0) {
        error_recode(err, ERR_NO_CAPACITY); /* busy would be a move that has begun */
        return -1;
    }
    return host_disk_reserve(db, move.to_host, 0, err) < 0 ? -1 : move_begin(db, &move, err);
}

const struct move_start checkpoint_move_start = {checkpoint_row_leaving, begin, 32};

int checkpoint_fetch_begin(struct db *db, const struct checkpoint *checkpoint, struct error **err)
{
    struct move move = {
        .kind = MOVE_CHECKPOINT, .from_host = checkpoint->host_id, .to_host = checkpoint->host_id};
    memcpy(move.id, checkpoint->id, sizeof move.id);
    memcpy(move.group_id, checkpoint->id, sizeof move.group_id);
    memcpy(move.team_id, checkpoint->team_id, sizeof move.team_id);
    return move_begin(db, &move, err);
}

static bool stays_there(const struct move *move)
{
    return move->from_host == move->to_host;
}

/* --- moving --- */

static int tick(void *context, struct error **err)
{
    return moving_tick(context, err);
}

static int fetch(struct moving *moving, struct error **err)
{
    struct checkpoint checkpoint;
    archive_auto archive = {0};
    const struct move *move = &moving->move;
    struct archive_target target = {
        .worker = moving->worker,
        .runtime = moving->to,
        .host_id = move->to_host,
        .instance_name = checkpoint.instance_name,
        .hurry = move->asked,
        .tick = tick,
        .tick_context = moving,
    };
    if (checkpoint_get(moving->worker->db, move->id, &checkpoint, err) < 0 ||
        archive_current(moving->worker->db, move->id, &archive, err) < 0)
        return -1;
    if (archive.state != ARCHIVE_WHOLE)
        return error_set(err, ERR_RUNTIME_FAILED,
                         "The checkpoint is missing on its host, and the archive has no copy.");
    return archive_fetch(&archive, &target, err);
}

static int copy(struct moving *moving, struct error **err)
{
    struct checkpoint checkpoint;
    const struct move *move = &moving->move;
    const struct runtime_receipt receipt = {move->id, move->attempts};
    char source[INSTANCE_NAME_SIZE];
    if (stays_there(move))
        return fetch(moving, err);
    if (checkpoint_get(moving->worker->db, move->id, &checkpoint, err) < 0)
        return -1;
    runtime_source_name(checkpoint.template_version_id, source);
    return moving->to->ops->transfer->receive_checkpoint(
        moving->to, moving->from, checkpoint.instance_name, source, &receipt, err);
}

/* The lock of its row orders this step and requests that make something from it. */
static int arrive(struct db *db, const struct moving *moving, bool *arrived, struct error **err)
{
    struct checkpoint checkpoint;
    const struct move *move = &moving->move;
    if (checkpoint_get_any(db, move->id, true, &checkpoint, err) < 0 ||
        checkpoint_row_rehost(db, move->id, move->from_host, move->to_host, err) < 0)
        return -1;
    *arrived = true;
    return stays_there(move) ? move_forget(db, move->id, MOVE_CHECKPOINT, err)
                             : move_clear_from(db, move->group_id, true, "", err);
}

/* An incomplete copy on the new host is never in use: its removal must not wait for a build, which
 * may itself wait for the next move. */
static int is_in_use(const struct moving *moving, bool *in_use, struct error **err)
{
    const struct move *move = &moving->move;
    *in_use = false;
    if (move->clear_host != move->from_host)
        return 0;
    return checkpoint_row_in_use_on(moving->worker->db, move->id, move->clear_host, in_use, err);
}

static int clear(struct moving *moving, bool *cleared, struct error **err)
{
    struct checkpoint checkpoint;
    struct runtime *runtime;
    bool in_use, lost;
    *cleared = stays_there(&moving->move); /* the next attempt replaces an incomplete fetch */
    if (*cleared)
        return 0;
    if (moving_open_clear(moving, &runtime, &lost, err) < 0)
        return -1;
    *cleared = lost;
    if (lost || is_in_use(moving, &in_use, err) < 0)
        return lost ? 0 : -1;
    if (in_use)
        return 0;
    if (checkpoint_get_any(moving->worker->db, moving->move.id, false, &checkpoint, err) < 0)
        return -1;
    *cleared = true;
    return runtime->ops->destroy(runtime, checkpoint.instance_name, err);
}

const struct mover checkpoint_mover = {copy, arrive, clear, fetch};

/* --- lost hosts --- */

int checkpoint_leave_lost_host(struct worker *worker, const char *id, bool *going,
                               struct error **err)
{
    struct move_order order = {.id = id, .asked = true};
    *going =
        db_transaction(worker->db, begin, &order, err) == 0 || (*err)->code == ERR_SANDBOX_BUSY;
    if (!*going)
        return move_pass_over(err);
    error_clear(err);
    notify_send(worker->settings->api_socket, NOTIFY_MOVES);
    return 0;
}
