/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Make copies. Clients do not wait for a copy: a sandbox that is resumed meanwhile makes it
 * worthless, and it is given up.
 *
 * Each attempt writes its own object. It is read back before the row says that the copy is
 * complete.
 */
#include "archive/archive_work.h"

#include <stdio.h>
#include <string.h>

#include "archive/archive_row.h"
#include "archive/archive_stream.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "base/mem.h"

#define AGAIN_MS      10000 /* doubles with each failure */
#define AGAIN_MOST_MS 3600000
/* While this many copies fail, as during an outage of the storage, no new copy is started. */
#define FAILING_MOST  4
#define ATTEMPTS_MOST 5 /* of one copy, while the storage works */

struct storing {
    struct worker *worker;
    archive_look *const *looks;
    struct archive archive;
    struct archive_subject subject; /* id "": no object was examined */
    struct objects *objects;
    struct runtime *runtime;
    struct lease lease;
    bool is_wanted;       /* the object has not changed since the copy was started */
    bool storage_is_fine; /* a failure has another cause than the storage */
    int64_t started_ms;
};

static void storing_deinit(struct storing *storing)
{
    if (storing->runtime)
        storing->runtime->tick = NULL;
    objects_close(storing->objects);
    archive_deinit(&storing->archive);
}

static int tick(void *context, struct error **err)
{
    struct storing *storing = context;
    return lease_tick(&storing->lease, err);
}

static int look(struct storing *storing, struct db *db, const char *id, bool lock,
                struct error **err)
{
    return storing->looks[storing->archive.kind](db, id, lock, &storing->subject, err);
}

/* --- choosing the next object --- */

/* Check under the lock: the object may have changed, or another worker may copy it already. Mark it
 * in that case, or it would be its team's first choice for ever. */
static int is_due(struct db *db, const struct archive *archive,
                  const struct archive_subject *subject, bool *due, struct error **err)
{
    archive_auto there = {0};
    *due = false;
    if (!subject->is_still)
        return 0;
    if (archive_current(db, subject->id, &there, err) < 0)
        return -1;
    *due = there.state == ARCHIVE_NONE;
    return *due ? 0 : archive_row_mark(db, archive->kind, subject->id, ARCHIVE_MARK_ROW, err);
}

static int begin_locked(struct storing *storing, struct db *db, struct error **err)
{
    struct worker *worker = storing->worker;
    const struct archive_subject *subject = &storing->subject;
    struct archive *archive = &storing->archive;
    archive->incarnation = subject->incarnation;
    memcpy(archive->object_id, subject->id, ID_SIZE);
    memcpy(archive->team_id, subject->team_id, ID_SIZE);
    if (archive_row_insert(db, archive, worker->lease_owner, worker->settings->lease_s, err) < 0 ||
        archive_row_mark(db, archive->kind, subject->id, ARCHIVE_MARK_ROW, err) < 0)
        return -1;
    return archive_row_turn(db, subject->team_id, err);
}

static int begin_body(struct db *db, void *context, struct error **err)
{
    struct storing *storing = context;
    struct archive *archive = &storing->archive;
    char id[ID_SIZE];
    bool due;
    int64_t after_ms = (int64_t)storing->worker->settings->archive_after_s * 1000;
    *archive = (struct archive){0};
    storing->subject = (struct archive_subject){.id = ""};
    if (archive_row_due(db, clock_now_ms() - after_ms, &archive->kind, id, err) < 0)
        return -1;
    if (!*id)
        return 0;
    if (look(storing, db, id, true, err) < 0 ||
        is_due(db, archive, &storing->subject, &due, err) < 0)
        return -1;
    if (!due)
        return 0;
    return storing->subject.fits ? begin_locked(storing, db, err)
                                 : archive_row_mark(db, archive->kind, id, ARCHIVE_MARK_NEVER, err);
}

static int begin(struct storing *storing, struct error **err)
{
    uint64_t failing;
    if (archive_row_failing(storing->worker->db, &failing, err) < 0)
        return -1;
    return failing < FAILING_MOST ? db_transaction(storing->worker->db, begin_body, storing, err)
                                  : 0;
}

/* --- writing --- */

/* Remove the object and the upload of an earlier attempt. */
static int clear_away(struct storing *storing, struct error **err)
{
    const struct archive *archive = &storing->archive;
    if (!archive->key[0])
        return 0;
    if (archive->upload &&
        objects_upload_abandon(storing->objects, archive->key, archive->upload, err) < 0)
        return -1;
    return objects_delete(storing->objects, archive->key, err);
}

static int open_writer(struct storing *storing, struct archive_writer **writer, struct error **err)
{
    struct worker *worker = storing->worker;
    struct archive *archive = &storing->archive;
    char upload[OBJECTS_UPLOAD_SIZE];
    snprintf(archive->key, sizeof archive->key, "%s/%s-%u", archive_folders[archive->kind],
             archive->id, archive->attempts);
    archive->incarnation = storing->subject.incarnation;
    if (archive_writer_new(storing->objects, worker->ring, archive, worker->settings->archive_kib_s,
                           upload, writer, err) < 0)
        return -1;
    archive_deinit(archive);
    archive->upload = xstrdup(upload);
    return archive_row_begun(worker->db, archive, worker->lease_owner, err);
}

static int export_instance(struct storing *storing, struct archive_writer *writer,
                           struct error **err)
{
    struct runtime *runtime = storing->runtime;
    storing->storage_is_fine = true;
    runtime->tick = tick;
    runtime->tick_context = storing;
    int result = runtime->ops->transfer->export_object(runtime, RUNTIME_INSTANCE,
                                                       storing->subject.instance_name,
                                                       archive_writer_file(writer), err);
    runtime->tick = NULL;
    if (result == 0)
        return 0;
    error_auto host = NULL;
    error_move(&host, err);
    if (archive_writer_failed(writer, err) < 0 && !*err)
        return error_move(err, &host);
    storing->storage_is_fine = false;
    return -1;
}

static int write_object(struct storing *storing, struct error **err)
{
    struct archive_writer *writer = NULL;
    int result = clear_away(storing, err);
    if (result == 0)
        result = open_writer(storing, &writer, err);
    fault_point(FAULT_ARCHIVE_BEGUN);
    if (result == 0)
        result = export_instance(storing, writer, err);
    if (result == 0) {
        storing->storage_is_fine = false;
        result = archive_writer_finish(writer, &storing->archive, err);
    }
    archive_writer_free(writer);
    fault_point(FAULT_ARCHIVE_SENT);
    return result;
}

static int verify(struct storing *storing, struct error **err)
{
    struct archive_reader *reader = NULL;
    int result = archive_reader_new(storing->objects, storing->worker->ring, &storing->archive,
                                    &reader, err);
    if (result == 0)
        result = archive_reader_verify(reader, err);
    archive_reader_free(reader);
    fault_point(FAULT_ARCHIVE_VERIFIED);
    return result;
}

/* --- finishing --- */

static int finish_body(struct db *db, void *context, struct error **err)
{
    struct storing *storing = context;
    const struct archive_subject *now = &storing->subject;
    if (look(storing, db, storing->archive.object_id, true, err) < 0)
        return -1;
    storing->is_wanted = now->is_still && now->incarnation == storing->archive.incarnation;
    return storing->is_wanted
               ? archive_row_whole(db, &storing->archive, storing->worker->lease_owner, err)
               : archive_row_drop(db, storing->archive.id, err);
}

static void log_stored(const struct storing *storing)
{
    const struct archive *archive = &storing->archive;
    COUNT(COUNT_ARCHIVED, "stored");
    log_info("copied an object to the archive",
             LOG_STR(archive_kind_names[archive->kind], archive->object_id),
             LOG_STR("object", archive->key), LOG_INT("bytes", archive->stored_bytes),
             LOG_INT("duration_ms", clock_monotonic_ms() - storing->started_ms));
}

/* Leave out an object whose copy fails each time although the storage works: a checkpoint for ever,
 * a sandbox until its next pause. */
static int give_up_body(struct db *db, void *context, struct error **err)
{
    struct storing *storing = context;
    const struct archive *archive = &storing->archive;
    if (look(storing, db, archive->object_id, true, err) < 0 ||
        archive_row_drop(db, archive->id, err) < 0)
        return -1;
    return archive_row_mark(db, archive->kind, archive->object_id, ARCHIVE_MARK_NEVER, err);
}

static int note_failure(struct storing *storing, const struct error *failure, struct error **err)
{
    const struct archive *archive = &storing->archive;
    struct worker *worker = storing->worker;
    unsigned doublings = archive->attempts < 10 ? archive->attempts - 1 : 9;
    uint64_t delay_ms = (uint64_t)AGAIN_MS << doublings;
    const char *kind = archive_kind_names[archive->kind];
    if (failure->code == ERR_LEASE_LOST) {
        log_info("an object changed while it was copied to the archive; discarding the copy",
                 LOG_STR(kind, archive->object_id));
        return 0;
    }
    if (failure->code == ERR_HOST_UNREACHABLE || failure->code == ERR_HOST_LOST)
        return archive_row_drop(worker->db, archive->id, err); /* the host answers again later */
    COUNT(COUNT_ARCHIVED, "failed");
    log_warning("cannot copy an object to the archive; trying again",
                LOG_STR(kind, archive->object_id), LOG_INT("attempts", archive->attempts),
                LOG_ERROR(failure));
    if (storing->storage_is_fine && archive->attempts >= ATTEMPTS_MOST)
        return db_transaction(worker->db, give_up_body, storing, err);
    return archive_row_failed(worker->db, archive, worker->lease_owner,
                              delay_ms < AGAIN_MOST_MS ? delay_ms : AGAIN_MOST_MS, failure->message,
                              err);
}

/* --- one copy --- */

static int open_both(struct storing *storing, struct error **err)
{
    struct worker *worker = storing->worker;
    if (archive_open(worker->settings, false, &storing->objects, err) < 0)
        return -1;
    objects_tick_by(storing->objects, tick, storing);
    return runtimes_get(worker->runtimes, worker->db, storing->subject.host_id, &storing->runtime,
                        err);
}

static int store(struct storing *storing, struct error **err)
{
    if (open_both(storing, err) < 0 || write_object(storing, err) < 0 || verify(storing, err) < 0 ||
        lease_check(&storing->lease, err) < 0)
        return -1;
    return db_transaction(storing->worker->db, finish_body, storing, err);
}

static int run(struct storing *storing, struct error **err)
{
    struct worker *worker = storing->worker;
    error_auto failure = NULL;
    storing->started_ms = clock_monotonic_ms();
    lease_keep(&storing->lease, worker->db, &archive_storing, storing->archive.id,
               worker->lease_owner, worker->settings->lease_s * 1000);
    if (store(storing, &failure) < 0)
        return note_failure(storing, failure, err);
    if (storing->is_wanted)
        log_stored(storing);
    return 0;
}

/* Continue a copy whose worker is gone, or give it up if the object has changed. */
static int take_over(struct storing *storing, struct error **err)
{
    struct worker *worker = storing->worker;
    if (archive_row_take(worker->db, &archive_storing, worker->lease_owner,
                         worker->settings->lease_s, &storing->archive, err) < 0)
        return -1;
    if (!storing->archive.id[0])
        return 0;
    if (look(storing, worker->db, storing->archive.object_id, false, err) < 0)
        return -1;
    if (storing->subject.is_still)
        return 0;
    storing->archive.state = ARCHIVE_REMOVING;
    return archive_row_drop(worker->db, storing->archive.id, err);
}

int archive_store_next(struct worker *worker, archive_look *const looks[ARCHIVE_KINDS],
                       bool *worked, struct error **err)
{
    __attribute__((cleanup(storing_deinit))) struct storing storing = {.worker = worker,
                                                                       .looks = looks};
    *worked = false;
    if (!archive_is_on(worker->settings))
        return 0;
    if (take_over(&storing, err) < 0 || (!storing.archive.id[0] && begin(&storing, err) < 0))
        return -1;
    *worked = storing.archive.id[0] || storing.subject.id[0];
    return storing.archive.state == ARCHIVE_STORING ? run(&storing, err) : 0;
}
