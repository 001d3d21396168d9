/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Out of the archive. The row of a sandbox names the host that is to have it before anything is
 * there; its next resume finds the instance absent and fetches it. What is fetched carries the id
 * of the copy, so that nothing that an earlier life has left on that host is taken for it.
 */
#include <string.h>

#include "archive/archive_stream.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "host/host.h"
#include "sandbox/sandbox_archive.h"
#include "sandbox/sandbox_row.h"

/* --- fetching --- */

static int tick(void *context, struct error **err)
{
    struct work *work = context;
    return lease_tick(&work->lease, err);
}

static int take_in(struct work *work, const struct archive *archive, struct archive_reader *reader,
                   struct error **err)
{
    struct runtime *runtime = work->runtime;
    error_auto host = NULL;
    fault_point(FAULT_ARCHIVE_FETCHING);
    if (runtime->ops->take_in(runtime, work->sandbox.instance_name, archive->id,
                              archive_reader_file(reader), archive->plain_bytes, &host) == 0)
        return 0;
    archive_reader_failed(reader, err);
    return *err ? -1 : error_move(err, &host);
}

static int fetch(struct work *work, const struct archive *archive, struct error **err)
{
    struct objects *objects = NULL;
    struct archive_reader *reader = NULL;
    int64_t started_ms = clock_monotonic_ms();
    if (archive_open(work->worker->settings, true, &objects, err) < 0)
        return -1;
    objects_tick_by(objects, tick, work);
    int result = archive_reader_new(objects, work->worker->ring, archive, &reader, err);
    if (result == 0)
        result = take_in(work, archive, reader, err);
    archive_reader_free(reader);
    objects_close(objects);
    COUNT(COUNT_ARCHIVED, result < 0 ? "not fetched" : "fetched");
    if (result == 0)
        log_info("sandbox was fetched from the archive", LOG_STR("sandbox", work->sandbox.id),
                 LOG_STR("object", archive->key), LOG_INT("host", work->sandbox.host_id),
                 LOG_INT("duration_ms", clock_monotonic_ms() - started_ms));
    return result;
}

/* What its own host has is as good, and newer where a resume has failed. */
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
    bool gone;
};

static int place(struct db *db, const struct sandbox *sandbox, uint32_t *host_id,
                 struct error **err)
{
    if (host_move_target(db, sandbox->host_id, sandbox->address, &sandbox->resources, host_id,
                         err) < 0)
        return -1;
    if (!*host_id)
        return error_set(err, ERR_NO_CAPACITY,
                         "The host of the sandbox is lost, and no other has room for it now.");
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
    if (place(db, &sandbox, &host_id, err) < 0 ||
        sandbox_row_rehost(db, &sandbox, host_id, err) < 0 ||
        archive_promise(db, archive.id, host_id, err) < 0)
        return -1;
    leaving->gone = true;
    return 0;
}

int sandbox_leave_lost_host(struct worker *worker, const char *id, bool *gone, struct error **err)
{
    struct leaving leaving = {.id = id};
    *gone = false;
    if (!archive_is_on(worker->settings))
        return 0;
    if (db_transaction(worker->db, leave_body, &leaving, err) < 0)
        return -1;
    *gone = leaving.gone;
    fault_point(FAULT_ARCHIVE_PROMISED);
    return 0;
}
