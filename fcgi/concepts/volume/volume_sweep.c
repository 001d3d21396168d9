/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
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
#include "worker/hold.h"
#include "worker/sweep_failure.h"

#define NAME_PREFIX        "vol-"
#define DELETE_PATIENCE_MS 60000

struct sweeping {
    struct worker *worker;
    const char *id;
    uint32_t host_id;
    bool kept;
};

/* With the row locked, if it exists, no move of the volume begins or ends. Hold the volume, so that
 * none brings it here. */
static int sweep_body(struct db *db, void *context, struct error **err)
{
    struct sweeping *sweeping = context;
    struct volume volume;
    if (volume_get_any(db, sweeping->id, true, &volume, err) < 0) {
        if (!error_clear_if(err, ERR_NOT_FOUND))
            return -1;
    }
    if (volume_row_is_kept(db, sweeping->id, sweeping->host_id, &sweeping->kept, err) < 0)
        return -1;
    return sweeping->kept ? 0
                          : hold_take(sweeping->worker, sweeping->host_id, sweeping->id,
                                      DELETE_PATIENCE_MS, err);
}

/* Delete a volume on a host that belongs to no row. */
static int sweep_volume(struct worker *worker, uint32_t host_id, struct runtime *runtime,
                        const struct runtime_volume *found, struct error **err)
{
    bool kept;
    char id[VOLUME_INSTANCE_SIZE + 4];
    /* A younger volume may belong to a row that was read too early. */
    int64_t grace_ms = 2 * (int64_t)worker->settings->lease_s * 1000;
    if (clock_now_ms() - found->created_at_ms < grace_ms ||
        !str_starts_with(found->name, NAME_PREFIX))
        return 0;
    snprintf(id, sizeof id, "vol_%s", found->name + strlen(NAME_PREFIX));
    if (!id_is_valid("vol_", id))
        return 0;
    if (volume_row_is_kept(worker->db, id, host_id, &kept, err) < 0)
        return -1;
    if (kept)
        return 0;
    struct sweeping sweeping = {worker, id, host_id, false};
    if (db_transaction(worker->db, sweep_body, &sweeping, err) < 0)
        return hold_is_of_another(err) ? 0 : -1;
    if (sweeping.kept)
        return 0;
    log_warning("deleting a volume on a host, because the database has no row for it",
                LOG_STR("volume", id), LOG_INT("host", host_id));
    runtime_limit(runtime, DELETE_PATIENCE_MS);
    int result = runtime->ops->volume->delete (runtime, found->name, err);
    runtime_limit(runtime, 0);
    hold_end(worker, host_id, id, result < 0 ? *err : NULL);
    return result;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct runtime_volume *)a)->name,
                  ((const struct runtime_volume *)b)->name);
}

/* Log missing volumes. Their data is lost, so the operator must know. The team can still delete the
 * row. found: by name. */
static void report_missing(struct worker *worker, uint32_t host_id, char (*ids)[ID_SIZE],
                           size_t id_count, const struct runtime_volume *found, size_t count)
{
    for (size_t i = 0; i < id_count; i++) {
        char name[VOLUME_INSTANCE_SIZE];
        struct runtime_volume key;
        struct volume now;
        error_auto ignored = NULL;
        snprintf(key.name, sizeof key.name, "%s", volume_instance_name(ids[i], name));
        if (!(count && bsearch(&key, found, count, sizeof *found, by_name)) &&
            volume_get(worker->db, ids[i], &now, &ignored) == 0 && now.host_id == host_id)
            log_error("a volume is missing on its host, and its files are lost; restore them from "
                      "a backup",
                      LOG_STR("volume", ids[i]), LOG_INT("host", host_id));
    }
}

static int sweep_host(void *context, const struct host *host, struct error **err)
{
    struct worker *worker = context;
    struct runtime *runtime;
    autofree struct runtime_volume *found = NULL;
    char(*ids)[ID_SIZE] = NULL;
    size_t count = 0, id_count;
    unsigned failures = 0;
    /* Rows are read first: a volume that is ready then must be on the host. A volume that is
     * deleted in between is reported once. */
    if (runtimes_of(worker->runtimes, worker->db, host, &runtime, err) < 0 ||
        volume_row_list_on_host(worker->db, host->id, &ids, &id_count, err) < 0)
        return -1;
    int result = runtime->ops->volume->list(runtime, &found, &count, err);
    if (count)
        qsort(found, count, sizeof *found, by_name);
    if (result == 0)
        report_missing(worker, host->id, ids, id_count, found, count);
    size_t first = sweep_first(count);
    for (size_t n = 0; n < count && result == 0 && failures < SWEEP_FAILURES_MAX; n++) {
        const struct runtime_volume *volume = &found[(first + n) % count];
        if (sweep_volume(worker, host->id, runtime, volume, err) < 0 &&
            !sweep_passes_over(&failures, volume->name, err))
            result = -1;
    }
    free(ids);
    return result == 0 ? keeper_tidy(worker, host->id, err) : -1;
}

int volume_sweep(struct worker *worker, struct error **err)
{
    return hosts_each(worker->db, sweep_host, worker,
                      "cannot compare the volumes of a host with the database; trying again", err);
}
