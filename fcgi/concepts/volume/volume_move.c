/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "volume/volume_move.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "host/host.h"
#include "volume/keeper.h"
#include "volume/volume_fence.h"
#include "volume/volume_mount.h"
#include "worker/hold.h"

/* --- beginning --- */

struct beginning {
    const char *id;
    const struct move_order *order;
    char ids[VOLUME_GROUP_MAX][ID_SIZE];
    unsigned count;
    struct volume volumes[VOLUME_GROUP_MAX]; /* as locked; their owned members are not used */
    struct host_wanted wanted;
    uint32_t *addresses;
    bool machine;
};

static int refuse(struct error **err, const char *why)
{
    return error_set(err, ERR_INVALID_REQUEST, "The volume cannot be moved: %s.", why);
}

static int lock_one(struct db *db, struct beginning *beginning, unsigned i, struct error **err)
{
    struct volume *volume = &beginning->volumes[i];
    bool live;
    if (volume_get_any(db, beginning->ids[i], true, volume, err) < 0 ||
        volume_is_live(db, volume, &live, err) < 0 ||
        volume_row_addresses(db, volume->id, &beginning->addresses,
                             &beginning->wanted.address_count, &beginning->machine, err) < 0)
        return -1;
    if (live || volume->state != VOLUME_READY)
        return error_set(err, ERR_VOLUME_ATTACHED, "A running sandbox has mounted the volume.");
    if (volume->host_id != beginning->volumes[0].host_id)
        return refuse(err, "volumes that must move with it are on another host");
    beginning->wanted.resources.disk_gb += volume->size_gb;
    return volume_row_new_generation(db, volume->id, err);
}

static int choose(struct db *db, struct beginning *beginning, uint32_t *to_host, struct error **err)
{
    struct host_wanted *wanted = &beginning->wanted;
    wanted->from_host = beginning->volumes[0].host_id;
    wanted->addresses = beginning->addresses;
    if (beginning->machine)
        return refuse(err, "a virtual machine has mounted it");
    if (host_target(db, wanted, to_host, err) < 0)
        return -1;
    if (!*to_host)
        return error_set(err, ERR_NO_CAPACITY, "No other host has room for the volume now.");
    /* A sandbox that follows takes its own disk. */
    return host_disk_reserve(db, *to_host,
                             wanted->resources.disk_gb - beginning->order->resources.disk_gb, err);
}

static int lock_group(struct db *db, struct beginning *beginning, struct error **err)
{
    struct volume first;
    beginning->wanted = (struct host_wanted){.only_host = beginning->order->only_host,
                                             .resources = beginning->order->resources};
    beginning->machine = false;
    if (volume_get(db, beginning->id, &first, err) < 0 ||
        volume_row_group(db, &first, beginning->ids, &beginning->count, err) < 0)
        return -1;
    for (unsigned i = 0; i < beginning->count; i++)
        if (lock_one(db, beginning, i, err) < 0)
            return -1;
    return 0;
}

static int begin_group(struct db *db, struct beginning *beginning, struct error **err)
{
    uint32_t to_host;
    char group_id[ID_SIZE];
    id_new("mov_", group_id);
    if (lock_group(db, beginning, err) < 0 || choose(db, beginning, &to_host, err) < 0)
        return -1;
    for (unsigned i = 0; i < beginning->count; i++) {
        const struct volume *volume = &beginning->volumes[i];
        struct move move = {.kind = MOVE_VOLUME,
                            .asked = beginning->order->asked,
                            .from_host = volume->host_id,
                            .to_host = to_host,
                            .generation = volume->generation + 1};
        memcpy(move.id, volume->id, sizeof move.id);
        memcpy(move.team_id, volume->team_id, sizeof move.team_id);
        memcpy(move.group_id, group_id, sizeof move.group_id);
        if (hold_check(db, to_host, volume->id, err) < 0) {
            error_recode(err, ERR_NO_CAPACITY); /* busy would be a move that has begun */
            return -1;
        }
        if (move_begin(db, &move, err) < 0)
            return -1;
    }
    return 0;
}

static int begin(struct db *db, void *context, struct error **err)
{
    const struct move_order *order = context;
    struct beginning beginning = {.id = order->id, .order = order};
    int result = begin_group(db, &beginning, err);
    free(beginning.addresses);
    return result;
}

const struct move_start volume_move_start = {volume_row_leaving, begin, 16};

/* --- moving --- */

static int used_meanwhile(struct error **err)
{
    return error_set(err, ERR_VOLUME_ATTACHED,
                     "a sandbox was started with it, or its files were changed, during the copy");
}

static int still_ours(void *context, struct error **err)
{
    struct moving *moving = context;
    return lease_check(&moving->lease, err);
}

static int fence(struct moving *moving, const struct volume *volume, struct error **err)
{
    const struct volume_fencing by = {moving->from, still_ours, moving};
    struct volume_fence fence = {.host_id = volume->host_id, .generation = volume->generation};
    memcpy(fence.volume_id, volume->id, sizeof fence.volume_id);
    return volume->keeper_epoch[0] ? volume_fence_raise(moving->worker, &by, &fence, err) : 0;
}

static int copy(struct moving *moving, struct error **err)
{
    struct volume volume;
    char name[VOLUME_INSTANCE_SIZE];
    const struct move *move = &moving->move;
    if (volume_get(moving->worker->db, move->id, &volume, err) < 0)
        return -1;
    if (volume.generation != move->generation)
        return used_meanwhile(err);
    if (fence(moving, &volume, err) < 0)
        return -1;
    return moving->to->ops->transfer->receive_volume(moving->to, moving->from,
                                                     volume_instance_name(move->id, name), err);
}

static int rehost(struct db *db, const struct move *move, struct error **err)
{
    struct volume volume;
    if (volume_get_any(db, move->id, true, &volume, err) < 0)
        return -1;
    if (volume.state != VOLUME_READY)
        return error_set(err, ERR_NOT_FOUND, "There is no such volume.");
    if (volume.generation != move->generation || volume.host_id != move->from_host)
        return used_meanwhile(err);
    return volume_row_rehost(db, move->id, move->to_host, err);
}

/* With the whole group locked: the copy that finishes last changes the host of all. */
static int arrive(struct db *db, const struct moving *moving, bool *arrived, struct error **err)
{
    const struct move *move = &moving->move;
    autofree struct move *group = NULL;
    unsigned count;
    if (move_group(db, move->group_id, &group, &count, err) < 0 ||
        move_copied(db, move, arrived, err) < 0)
        return -1;
    if (!*arrived)
        return 0;
    for (unsigned i = 0; i < count; i++)
        if (rehost(db, &group[i], err) < 0)
            return -1;
    return move_clear_from(db, move->group_id, true, "", err);
}

/* Delete the old copy. Paused sandboxes on that host that have not followed yet keep it. */
static int remove_from(struct moving *moving, struct runtime *runtime, bool *cleared,
                       struct error **err)
{
    char name[VOLUME_INSTANCE_SIZE];
    const struct move *move = &moving->move;
    if (move->clear_host == move->from_host &&
        keeper_unmount(moving->worker, move->clear_host, move->id, err) < 0)
        return -1;
    if (runtime->ops->volume->delete (runtime, volume_instance_name(move->id, name), err) == 0)
        return 0;
    if (!error_clear_if(err, ERR_VOLUME_ATTACHED))
        return -1;
    *cleared = false;
    return 0;
}

static int clear(struct moving *moving, bool *cleared, struct error **err)
{
    struct runtime *runtime;
    bool lost;
    if (moving_open_clear(moving, &runtime, &lost, err) < 0)
        return -1;
    *cleared = true;
    return lost ? 0 : remove_from(moving, runtime, cleared, err);
}

const struct mover volume_mover = {copy, arrive, clear, NULL};
