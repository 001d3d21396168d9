/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox_gather.h"

#include "checkpoint/checkpoint_move.h"
#include "host/host.h"
#include "template/template_move.h"
#include "volume/volume_move.h"

/* The volumes that the sandbox mounts. */
struct volumes {
    struct volume_place list[VOLUME_MOUNTS_MAX];
    unsigned count;
};

/* Find the hosts of the volumes. A deleted volume is left to the create, which refuses it. */
static int find_volumes(const struct gathering *gathering, struct volumes *volumes,
                        struct error **err)
{
    const struct sandbox_create *request = gathering->request;
    return volume_mounts_places(gathering->worker->db, request->team->id, request->mounts,
                                request->mount_count, volumes->list, &volumes->count, err);
}

/* Return the host of all volumes; 0: they are on several hosts. */
static uint32_t common_host(const struct volumes *volumes)
{
    for (unsigned i = 1; i < volumes->count; i++)
        if (volumes->list[i].host_id != volumes->list[0].host_id)
            return 0;
    return volumes->list[0].host_id;
}

static bool is_of_checkpoint(const struct gathering *gathering)
{
    return *gathering->sandbox->snapshot_id;
}

/* A fork starts on the host of its original, and has no volumes. */
static bool can_be_brought(const struct gathering *gathering)
{
    return !gathering->request->copy && gathering->sandbox->template_version_id[0];
}

/* --- whether it helps --- */

static bool is_scattered(const struct gathering *gathering, const struct volumes *volumes)
{
    uint32_t host_id = common_host(volumes);
    return !host_id || (is_of_checkpoint(gathering) && gathering->sandbox->host_id != host_id);
}

static int is_room(const struct gathering *gathering, uint32_t from_host, bool *room,
                   struct error **err)
{
    const struct host_wanted wanted = {.from_host = from_host,
                                       .resources = gathering->sandbox->resources};
    uint32_t host_id = 0;
    if (host_target(gathering->worker->db, &wanted, &host_id, err) < 0)
        return -1;
    *room = host_id != 0;
    return 0;
}

int sandbox_gather_may_help(const struct gathering *gathering, const struct error *refusal,
                            bool *may, struct error **err)
{
    const struct sandbox *sandbox = gathering->sandbox;
    struct volumes volumes = {.count = 0};
    *may = false;
    if (!can_be_brought(gathering) ||
        (refusal->code != ERR_NO_CAPACITY && refusal->code != ERR_INVALID_REQUEST))
        return 0;
    if (!gathering->request->mount_count)
        return refusal->code == ERR_NO_CAPACITY
                   ? is_room(gathering, is_of_checkpoint(gathering) ? sandbox->host_id : 0, may,
                             err)
                   : 0;
    if (find_volumes(gathering, &volumes, err) < 0)
        return -1;
    *may = volumes.count && is_scattered(gathering, &volumes);
    return *may || !volumes.count || refusal->code != ERR_NO_CAPACITY
               ? 0
               : is_room(gathering, 0, may, err);
}

/* --- moving --- */

/* Move the source. only_host 0: to any host with room. *moved: it has arrived. */
static int bring_source(const struct gathering *gathering, uint32_t only_host, int64_t give_up_ms,
                        bool *moved, struct error **err)
{
    const struct sandbox *sandbox = gathering->sandbox;
    bool of_checkpoint = is_of_checkpoint(gathering);
    const struct move_order order = {
        .id = of_checkpoint ? sandbox->snapshot_id : sandbox->template_version_id,
        .only_host = only_host,
        .resources = sandbox->resources,
    };
    return moving_for_room(gathering->worker,
                           of_checkpoint ? &checkpoint_move_start : &template_move_start, &order,
                           give_up_ms, moved, err);
}

static const struct volume_place *first_elsewhere(const struct volumes *volumes, uint32_t host_id)
{
    for (unsigned i = 0; i < volumes->count; i++)
        if (volumes->list[i].host_id != host_id)
            return &volumes->list[i];
    return NULL;
}

/* Move the volumes to one host. A volume takes along the volumes that sandboxes mount together with
 * it, so all places are read again.
 *
 * *moved false: one volume could not move, and the rest was not tried. */
static int bring_volumes(const struct gathering *gathering, struct volumes *volumes,
                         uint32_t host_id, int64_t give_up_ms, bool *moved, struct error **err)
{
    const struct volume_place *place;
    *moved = true;
    for (unsigned i = 0; i < VOLUME_MOUNTS_MAX && *moved; i++) {
        if (!(place = first_elsewhere(volumes, host_id)))
            return 0;
        const struct move_order order = {
            .id = place->id,
            .only_host = host_id,
            .resources = gathering->sandbox->resources,
        };
        if (moving_for_room(gathering->worker, &volume_move_start, &order, give_up_ms, moved, err) <
                0 ||
            find_volumes(gathering, volumes, err) < 0)
            return -1;
    }
    *moved = *moved && volumes->count && !first_elsewhere(volumes, host_id);
    return 0;
}

/* Move all volumes to the host of one volume. A volume in use cannot move, so the hosts are tried
 * in turn. */
static int bring_together(const struct gathering *gathering, struct volumes *volumes,
                          int64_t give_up_ms, uint32_t *host_id, struct error **err)
{
    uint32_t tried[VOLUME_MOUNTS_MAX];
    unsigned count = volumes->count;
    for (unsigned i = 0; i < count; i++)
        tried[i] = volumes->list[i].host_id;
    *host_id = 0;
    for (unsigned i = 0; i < count && !*host_id; i++) {
        bool moved = false, again = false;
        for (unsigned j = 0; j < i; j++)
            again = again || tried[j] == tried[i];
        if (!again && bring_volumes(gathering, volumes, tried[i], give_up_ms, &moved, err) < 0)
            return -1;
        if (moved)
            *host_id = tried[i];
    }
    return 0;
}

/* The host of the volumes is full: move all to another host. */
static int bring_elsewhere(const struct gathering *gathering, struct volumes *volumes,
                           int64_t give_up_ms, bool *moved, struct error **err)
{
    struct host_wanted wanted = {.from_host = common_host(volumes),
                                 .resources = gathering->sandbox->resources};
    uint32_t host_id = 0;
    for (unsigned i = 0; i < volumes->count; i++)
        wanted.resources.disk_gb += volumes->list[i].size_gb;
    if (host_target(gathering->worker->db, &wanted, &host_id, err) < 0)
        return -1;
    return host_id ? bring_volumes(gathering, volumes, host_id, give_up_ms, moved, err) : 0;
}

int sandbox_gather(const struct gathering *gathering, int64_t give_up_ms, bool *gathered,
                   struct error **err)
{
    struct volumes volumes = {.count = 0};
    bool moved = false;
    *gathered = false;
    if (!can_be_brought(gathering))
        return 0;
    if (!gathering->request->mount_count)
        return bring_source(gathering, 0, give_up_ms, gathered, err);
    if (find_volumes(gathering, &volumes, err) < 0)
        return -1;
    if (!volumes.count)
        return 0;
    uint32_t host_id = common_host(&volumes);
    bool together = host_id;
    if (!together && bring_together(gathering, &volumes, give_up_ms, &host_id, err) < 0)
        return -1;
    if (!host_id)
        return 0;
    if (bring_source(gathering, host_id, give_up_ms, &moved, err) < 0)
        return -1;
    *gathered = moved || !together;
    return *gathered ? 0 : bring_elsewhere(gathering, &volumes, give_up_ms, gathered, err);
}
