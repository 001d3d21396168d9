/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fetch sandboxes from the archive.
 *
 * The sandbox's row names the new host before the host has anything. The next resume finds no
 * instance and fetches it. A fetched instance carries the id of the archive's copy, so leftovers of
 * an earlier life on that host are not used by mistake.
 */

#include "base/fault_point.h"
#include "host/host.h"
#include "moving/moving.h"
#include "sandbox/reservation.h"
#include "sandbox/sandbox_archive.h"
#include "sandbox/sandbox_row.h"
#include "worker/hold.h"

/* --- fetching --- */

static int tick(void *context, struct error **err)
{
    struct work *work = context;
    return lease_tick(&work->lease, err);
}

static int fetch(struct work *work, const struct archive *archive, struct error **err)
{
    const struct archive_target target = {
        .worker = work->worker,
        .runtime = work->runtime,
        .host_id = work->sandbox.host_id,
        .instance_name = work->sandbox.instance_name,
        .hurry = true,
        .tick = tick,
        .tick_context = work,
    };
    pool_suspend_start(work->worker->pool);
    return archive_fetch(archive, &target, err);
}

/* Check whether its own host has a usable instance, which is newer than the archive after a failed
 * resume. */
static int host_has_it(struct work *work, const struct archive *archive, bool *has,
                       struct error **err)
{
    enum runtime_status status;
    *has = false;
    if (archive->promised_host_id == work->sandbox.host_id)
        return 0;
    if (work->runtime->ops->inspect(work->runtime, work->sandbox.instance_name, &status, err) < 0)
        return -1;
    *has = status != RUNTIME_ABSENT;
    return 0;
}

int sandbox_is_fetched(const struct settings *settings, struct db *db,
                       const struct sandbox *sandbox, bool *fetched, struct error **err)
{
    archive_auto archive = {0};
    *fetched = false;
    if (!archive_is_on(settings))
        return 0;
    if (archive_current(db, sandbox->id, &archive, err) < 0)
        return -1;
    *fetched = archive.state == ARCHIVE_WHOLE && archive.promised_host_id == sandbox->host_id;
    return 0;
}

int work_fetch_archived(struct work *work, struct error **err)
{
    archive_auto archive = {0};
    bool has;
    if (!archive_is_on(work->worker->settings))
        return 0;
    if (archive_current(work->worker->db, work->sandbox.id, &archive, err) < 0)
        return -1;
    if (archive.state != ARCHIVE_WHOLE)
        return 0;
    if (host_has_it(work, &archive, &has, err) < 0)
        return -1;
    return has ? 0 : fetch(work, &archive, err);
}

/* --- leaving a lost host --- */

struct leaving {
    const char *id;
    bool starts; /* at once, so it also needs room to run */
    bool gone;
};

static int place(struct db *db, const struct leaving *leaving, const struct sandbox *sandbox,
                 uint32_t *host_id, struct error **err)
{
    const struct runtime_resources only_disk = {.disk_gb = sandbox->resources.disk_gb};
    if (host_move_target(db, sandbox->host_id, sandbox->address,
                         leaving->starts ? &sandbox->resources : &only_disk, host_id, err) < 0)
        return -1;
    if (!*host_id)
        return error_set(
            err, ERR_NO_CAPACITY,
            "The host of the sandbox is lost, and no other host has room for the sandbox now.");
    return host_disk_reserve(db, *host_id, sandbox->resources.disk_gb, err);
}

static int leave_body(struct db *db, void *context, struct error **err)
{
    struct leaving *leaving = context;
    sandbox_auto sandbox = {0};
    archive_auto archive = {0};
    bool lost;
    uint32_t host_id;
    leaving->gone = false;
    if (sandbox_get_any(db, leaving->id, true, &sandbox, err) < 0 ||
        archive_current(db, leaving->id, &archive, err) < 0 ||
        host_is_lost(db, sandbox.host_id, &lost, err) < 0)
        return -1;
    if (!lost || sandbox.state != SANDBOX_STOPPED || archive.state != ARCHIVE_WHOLE)
        return 0;
    if (place(db, leaving, &sandbox, &host_id, err) < 0 ||
        hold_check(db, host_id, sandbox.id, err) < 0 ||
        reservation_rehost(db, &sandbox, host_id, err) < 0 ||
        sandbox_row_rehost(db, &sandbox, host_id, err) < 0 ||
        archive_promise(db, archive.id, host_id, true, err) < 0)
        return -1;
    leaving->gone = true;
    return 0;
}

int sandbox_leave_lost_host(struct worker *worker, const char *id, bool *gone, struct error **err)
{
    struct leaving leaving = {.id = id, .starts = true};
    *gone = false;
    if (!archive_is_on(worker->settings))
        return 0;
    if (db_transaction(worker->db, leave_body, &leaving, err) < 0)
        return -1;
    *gone = leaving.gone;
    fault_point(FAULT_ARCHIVE_PROMISED);
    return 0;
}

static int leave_lost(void *context, const char *id, struct error **err)
{
    struct worker *worker = context;
    struct leaving leaving = {.id = id};
    if (db_transaction(worker->db, leave_body, &leaving, err) < 0)
        return -1;
    return leaving.gone ? 0 : error_set(err, ERR_NOT_FOUND, "the sandbox has left the lost host");
}

int sandbox_leave_lost_next(struct worker *worker, bool *worked, struct error **err)
{
    char ids[MOVE_LISTED_MOST][ID_SIZE];
    unsigned count;
    *worked = false;
    if (sandbox_row_on_lost_host(worker->db, MOVE_LISTED_MOST, ids, &count, err) < 0)
        return -1;
    return moving_begin_first(ids, count, MOVE_AT_ONCE_MOST, leave_lost, worker, worked, err);
}
