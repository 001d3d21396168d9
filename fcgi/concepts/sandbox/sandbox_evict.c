/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evict archived sandboxes from hosts whose storage pools fill up.
 *
 * With an archive, a host's copy of a paused sandbox is a cache. When the storage pool of a host
 * fills, the team with the most bytes there gives first, beginning with its oldest pause. The row
 * names the archive as the valid copy before anything is deleted, so that a resume in between
 * fetches it.
 */

#include "archive/archive_row.h"
#include "base/counters.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "sandbox/sandbox_archive.h"
#include "worker/hold.h"
#include "worker/sweep_failure.h"

#define AT_ONCE    8
#define CANDIDATES 256
/* a resume waits for it */
#define PATIENCE_MS 5000

struct evicting {
    struct worker *worker;
    const char *id;
    struct archive archive; /* the archive's row; id "": not to be evicted */
    struct sandbox sandbox;
};

static void evicting_deinit(struct evicting *evicting)
{
    archive_deinit(&evicting->archive);
    sandbox_deinit(&evicting->sandbox);
}

/* With the row locked, the sandbox neither starts, moves nor is copied. */
static int look(struct db *db, struct evicting *evicting, struct error **err)
{
    const struct sandbox *sandbox = &evicting->sandbox;
    struct archive *archive = &evicting->archive;
    evicting_deinit(evicting);
    if (sandbox_get_any(db, evicting->id, true, &evicting->sandbox, err) < 0 ||
        archive_current(db, evicting->id, archive, err) < 0)
        return -1;
    if (sandbox->state != SANDBOX_STOPPED || archive->state != ARCHIVE_WHOLE || archive->evicted ||
        archive->incarnation != sandbox->incarnation)
        archive->id[0] = '\0';
    return 0;
}

static int promise_body(struct db *db, void *context, struct error **err)
{
    struct evicting *evicting = context;
    if (look(db, evicting, err) < 0)
        return -1;
    return evicting->archive.id[0]
               ? archive_promise(db, evicting->archive.id, evicting->sandbox.host_id, false, err)
               : 0;
}

/* Hold the copy, so that the sandbox does not start from it meanwhile. */
static int hold_body(struct db *db, void *context, struct error **err)
{
    struct evicting *evicting = context;
    uint32_t host_id = evicting->sandbox.host_id;
    if (look(db, evicting, err) < 0)
        return -1;
    if (evicting->sandbox.host_id != host_id ||
        evicting->archive.promised_host_id != evicting->sandbox.host_id)
        evicting->archive.id[0] = '\0';
    return evicting->archive.id[0]
               ? hold_take(evicting->worker, host_id, evicting->id, PATIENCE_MS, err)
               : 0;
}

static int remove_instance(struct evicting *evicting, struct error **err)
{
    struct worker *worker = evicting->worker;
    const struct sandbox *sandbox = &evicting->sandbox;
    struct runtime *runtime;
    if (runtimes_get(worker->runtimes, worker->db, sandbox->host_id, &runtime, err) < 0)
        return -1;
    if (db_transaction(worker->db, hold_body, evicting, err) < 0) {
        if (!hold_is_of_another(err))
            return -1;
        evicting->archive.id[0] = '\0';
    }
    if (!evicting->archive.id[0])
        return 0;
    runtime_limit(runtime, PATIENCE_MS);
    int result = runtime->ops->destroy(runtime, sandbox->instance_name, err);
    runtime_limit(runtime, 0);
    if (result == 0) {
        fault_point(FAULT_ARCHIVE_EVICTED);
        result = archive_row_evicted(worker->db, evicting->archive.id, err);
    }
    hold_end(worker, sandbox->host_id, evicting->id, result < 0 ? *err : NULL);
    return result;
}

/* Check that the storage still has the object. If it does not, the host's copy stays. */
static int check_object(struct db *db, struct objects *objects, const char *id, struct error **err)
{
    archive_auto archive = {0};
    bool there;
    if (archive_current(db, id, &archive, err) < 0)
        return -1;
    if (archive.state != ARCHIVE_WHOLE) /* the sandbox has continued */
        return 0;
    if (archive_look_for(objects, &archive, &there, err) < 0)
        return -1;
    return there ? 0
                 : error_set(err, ERR_NOT_FOUND, "the archive no longer has the object %s",
                             archive.key);
}

static int evict(struct worker *worker, const char *id, struct error **err)
{
    __attribute__((cleanup(evicting_deinit))) struct evicting evicting = {.worker = worker,
                                                                          .id = id};
    if (db_transaction(worker->db, promise_body, &evicting, err) < 0)
        return -1;
    fault_point(FAULT_ARCHIVE_EVICTING);
    if (evicting.archive.id[0] && remove_instance(&evicting, err) < 0)
        return -1;
    if (!evicting.archive.id[0])
        return 0;
    COUNT(COUNT_ARCHIVED, "evicted");
    log_info("deleted an archived sandbox from its host, whose storage pool is filling",
             LOG_STR("sandbox", id), LOG_INT("host", evicting.sandbox.host_id),
             LOG_STR("object", evicting.archive.key));
    return 0;
}

static bool concerns_all(enum error_code code)
{
    return code == ERR_RUNTIME_UNAVAILABLE || code == ERR_DB_UNAVAILABLE;
}

/* Evict at most AT_ONCE sandboxes. A sandbox whose eviction fails rests. Without the storage of the
 * archive, no sandbox can be evicted. */
static int evict_all(struct worker *worker, struct objects *objects, char (*ids)[ID_SIZE],
                     unsigned count, struct error **err)
{
    for (unsigned i = 0, tried = 0; i < count && tried < AT_ONCE; i++) {
        error_auto failure = NULL;
        if (sweep_rests(ids[i]))
            continue;
        tried++;
        int result = check_object(worker->db, objects, ids[i], &failure);
        if (result < 0 && concerns_all(failure->code))
            return error_move(err, &failure);
        if (result == 0 && evict(worker, ids[i], &failure) == 0)
            continue;
        sweep_rest(ids[i]);
        log_warning("cannot delete an archived sandbox from its host, whose storage pool is "
                    "filling; trying again",
                    LOG_STR("sandbox", ids[i]), LOG_ERROR(failure));
    }
    return 0;
}

int sandbox_evict(struct worker *worker, struct error **err)
{
    char ids[CANDIDATES][ID_SIZE];
    struct objects *objects;
    unsigned count;
    unsigned percent = (unsigned)worker->settings->archive_evict_percent;
    if (!archive_is_on(worker->settings) || !percent)
        return 0;
    if (sandbox_row_evictable(worker->db, percent, CANDIDATES, ids, &count, err) < 0)
        return -1;
    if (!count)
        return 0;
    if (archive_open(worker->settings, true, &objects, err) < 0)
        return -1;
    int result = evict_all(worker, objects, ids, count, err);
    objects_close(objects);
    return result;
}
