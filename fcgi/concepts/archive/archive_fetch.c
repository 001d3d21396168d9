/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/archive_row.h"
#include "archive/archive_stream.h"
#include "archive/archive_work.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/fault_point.h"
#include "base/log.h"

/* Prefer the error of the storage: it explains why the runtime received only a part. */
static int take_in(const struct archive *archive, const struct archive_target *target,
                   struct archive_reader *reader, struct error **err)
{
    struct runtime *runtime = target->runtime;
    error_auto host = NULL;
    fault_point(FAULT_ARCHIVE_FETCHING);
    if (runtime->ops->transfer->take_in(runtime, target->instance_name, archive->id,
                                        archive_reader_file(reader), archive->plain_bytes,
                                        &host) == 0)
        return 0;
    archive_reader_failed(reader, err);
    return *err ? -1 : error_move(err, &host);
}

int archive_fetch(const struct archive *archive, const struct archive_target *target,
                  struct error **err)
{
    struct worker *worker = target->worker;
    struct objects *objects = NULL;
    struct archive_reader *reader = NULL;
    int64_t started_ms = clock_monotonic_ms();
    if (archive_open(worker->settings, target->hurry, &objects, err) < 0)
        return -1;
    objects_tick_by(objects, target->tick, target->tick_context);
    int result = archive_reader_new(objects, worker->ring, archive, &reader, err);
    if (result == 0)
        result = take_in(archive, target, reader, err);
    archive_reader_free(reader);
    objects_close(objects);
    if (result == 0)
        result = archive_row_fetched(worker->db, archive->id, err);
    COUNT(COUNT_ARCHIVED, result < 0 ? "not_fetched" : "fetched");
    if (result == 0)
        log_info("copied an object from the archive to a host",
                 LOG_STR(archive_kind_names[archive->kind], archive->object_id),
                 LOG_STR("object", archive->key), LOG_INT("host", target->host_id),
                 LOG_INT("duration_ms", clock_monotonic_ms() - started_ms));
    return result;
}
