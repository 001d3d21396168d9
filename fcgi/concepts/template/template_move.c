/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "template/template_move.h"

#include <string.h>

#include "host/host.h"
#include "template/template_row.h"

#define HOSTS_MOST 64

/* --- beginning --- */

/* Find hosts that lack the source: some of all, or the requested host. */
static int find_lacking(struct db *db, const struct move_order *order, uint32_t hosts[HOSTS_MOST],
                        unsigned *count, struct error **err)
{
    bool has;
    if (!order->only_host)
        return template_row_lacking(db, order->id, HOSTS_MOST, hosts, count, err);
    if (template_row_has_source(db, order->id, order->only_host, &has, err) < 0)
        return -1;
    hosts[0] = order->only_host;
    *count = !has;
    return 0;
}

/* Choose a host that lacks the source and has room. */
static int choose(struct db *db, const struct move_order *order, struct move *move,
                  struct error **err)
{
    uint32_t hosts[HOSTS_MOST];
    unsigned count;
    if (find_lacking(db, order, hosts, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count && !move->to_host; i++) {
        const struct host_wanted wanted = {
            .from_host = move->from_host, .only_host = hosts[i], .resources = order->resources};
        if (host_target(db, &wanted, &move->to_host, err) < 0)
            return -1;
    }
    return move->to_host
               ? 0
               : error_set(err, ERR_NO_CAPACITY, "No other host has room for the template now.");
}

/* Every team may use the version, so its row is locked last, as by a create, and only when a host
 * can take it. */
static int begin(struct db *db, void *context, struct error **err)
{
    const struct move_order *order = context;
    struct move move = {.kind = MOVE_TEMPLATE, .asked = order->asked};
    memcpy(move.id, order->id, sizeof move.id);
    memcpy(move.group_id, order->id, sizeof move.group_id);
    if (template_row_origin(db, move.id, &move.from_host, err) < 0 ||
        choose(db, order, &move, err) < 0 || host_disk_reserve(db, move.to_host, 0, err) < 0 ||
        template_row_lock_ready(db, move.id, move.team_id, err) < 0)
        return -1;
    return move_begin(db, &move, err);
}

const struct move_start template_move_start = {template_row_leaving, begin, 32};

/* --- copying --- */

static int copy(struct moving *moving, struct error **err)
{
    char source[INSTANCE_NAME_SIZE];
    runtime_source_name(moving->move.id, source);
    return moving->to->ops->transfer->receive_source(moving->to, moving->from, source, err);
}

static int arrive(struct db *db, const struct moving *moving, bool *arrived, struct error **err)
{
    char source[INSTANCE_NAME_SIZE];
    const struct move *move = &moving->move;
    char owner[ID_SIZE];
    runtime_source_name(move->id, source);
    if (template_row_lock_ready(db, move->id, owner, err) < 0 ||
        template_source_add(db, move->id, move->to_host, source, err) < 0)
        return -1;
    *arrived = true;
    return move_forget(db, move->id, MOVE_TEMPLATE, err);
}

/* After a failed copy: delete a source that no row records. */
static int clear(struct moving *moving, bool *cleared, struct error **err)
{
    char source[INSTANCE_NAME_SIZE];
    const struct move *move = &moving->move;
    struct runtime *runtime;
    bool has, lost;
    *cleared = true;
    runtime_source_name(move->id, source);
    if (template_row_has_source(moving->worker->db, move->id, move->clear_host, &has, err) < 0)
        return -1;
    if (has)
        return 0;
    if (moving_open_clear(moving, &runtime, &lost, err) < 0)
        return -1;
    return lost ? 0 : runtime->ops->destroy(runtime, source, err);
}

const struct mover template_mover = {copy, arrive, clear, NULL};
