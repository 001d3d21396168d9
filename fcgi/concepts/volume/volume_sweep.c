/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "host/host.h"
#include "volume/keeper.h"
#include "volume/volume_row.h"
#include "volume/volume_store.h"

#define NAME_PREFIX "vol-"

/* A volume of ours on a host against the rows: is it anybody's? */
static int sweep_volume(struct worker *worker, struct runtime *runtime,
                        const struct runtime_volume *found, struct error **err)
{
    bool kept;
    char id[VOLUME_INSTANCE_SIZE + 4];
    /* A younger one may belong to a row not seen yet. */
    int64_t grace_ms = 2 * (int64_t)worker->settings->lease_s * 1000;
    if (clock_now_ms() - found->created_at_ms < grace_ms ||
        !str_starts_with(found->name, NAME_PREFIX))
        return 0;
    snprintf(id, sizeof id, "vol_%s", found->name + strlen(NAME_PREFIX));
    if (!id_is_valid("vol_", id))
        return 0;
    if (volume_row_is_kept(worker->db, id, &kept, err) < 0)
        return -1;
    if (kept)
        return 0;
    log_warning("removing an orphaned volume", LOG_STR("volume", id));
    return runtime->ops->volume_delete(runtime, found->name, err);
}

static bool is_found(const struct runtime_volume *found, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (str_equal(found[i].name, name))
            return true;
    return false;
}

/* Nothing can bring the data of one back that is not there: whoever runs the host must know, and
 * its team can still delete it. */
static void report_missing(char (*ids)[ID_SIZE], size_t id_count,
                           const struct runtime_volume *found, size_t count)
{
    for (size_t i = 0; i < id_count; i++) {
        char name[VOLUME_INSTANCE_SIZE];
        if (!is_found(found, count, volume_instance_name(ids[i], name)))
            log_error("a volume is missing on its host", LOG_STR("volume", ids[i]));
    }
}

static int sweep_host(void *context, const struct host *host, struct error **err)
{
    struct worker *worker = context;
    struct runtime *runtime;
    autofree struct runtime_volume *found = NULL;
    char(*ids)[ID_SIZE] = NULL;
    size_t count = 0, id_count;
    /* The rows first: what is ready before the host is asked must be there. One that is deleted in
     * between is reported once, and never again. */
    if (runtimes_get(worker->runtimes, worker->db, host->id, &runtime, err) < 0 ||
        volume_row_list_on_host(worker->db, host->id, &ids, &id_count, err) < 0)
        return -1;
    int result = runtime->ops->volume_list(runtime, &found, &count, err);
    if (result == 0)
        report_missing(ids, id_count, found, count);
    for (size_t i = 0; i < count && result == 0; i++)
        result = sweep_volume(worker, runtime, &found[i], err);
    free(ids);
    return result == 0 ? keeper_tidy(worker, host->id, err) : -1;
}

int volume_sweep(struct worker *worker, struct error **err)
{
    return hosts_each(worker->db, sweep_host, worker,
                      "cannot compare the volumes of a host with the database", err);
}
