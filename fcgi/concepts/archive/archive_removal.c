/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remove outdated copies, and compare the storage with the rows. */
#include <string.h>

#include "archive/archive_row.h"
#include "archive/archive_work.h"
#include "base/clock.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "base/mem.h"

#define AGAIN_MS 30000
/* Spare younger objects: their row may not be committed yet, or the listing may be stale. */
#define STRAY_AGE_MS (24 * 3600 * (int64_t)1000)
#define AT_ONCE      100

static int tick(void *context, struct error **err)
{
    return lease_tick(context, err);
}

static int remove_object(struct objects *objects, const struct archive *archive, struct error **err)
{
    if (!archive->key[0])
        return 0;
    if (archive->upload[0] &&
        objects_upload_abandon(objects, archive->key, archive->upload, err) < 0)
        return -1;
    return objects_delete(objects, archive->key, err);
}

static int remove_one(struct worker *worker, const struct archive *archive, struct error **err)
{
    struct objects *objects = NULL;
    struct lease lease;
    if (archive_open(worker->settings, false, &objects, err) < 0)
        return -1;
    lease_keep(&lease, worker->db, &archive_removing, archive->id, worker->lease_owner,
               worker->settings->lease_s * 1000);
    objects_tick_by(objects, tick, &lease);
    int result = remove_object(objects, archive, err);
    objects_close(objects);
    fault_point(FAULT_ARCHIVE_REMOVED);
    return result < 0 ? -1 : archive_row_forget(worker->db, archive->id, err);
}

int archive_remove_next(struct worker *worker, bool *worked, struct error **err)
{
    archive_auto archive = {0};
    error_auto failure = NULL;
    *worked = false;
    if (!archive_is_on(worker->settings))
        return 0;
    if (archive_row_take(worker->db, &archive_removing, worker->lease_owner,
                         worker->settings->lease_s, &archive, err) < 0)
        return -1;
    *worked = archive.id[0];
    if (!*worked || remove_one(worker, &archive, &failure) == 0)
        return 0;
    log_warning("cannot delete a copy from the archive; trying again", LOG_STR("copy", archive.id),
                LOG_STR(archive_kind_names[archive.kind], archive.object_id), LOG_ERROR(failure));
    return archive_row_failed(worker->db, &archive, worker->lease_owner, AGAIN_MS, failure->message,
                              err);
}

/* --- comparing --- */

struct comparison {
    struct worker *worker;
    struct objects *objects;
    int64_t before_ms;
    unsigned removed;
};

static int compare_object(void *context, const struct objects_listed *one, struct error **err)
{
    struct comparison *comparison = context;
    bool known;
    if (one->modified_at_ms > comparison->before_ms)
        return 0;
    if (archive_row_knows(comparison->worker->db, one->key, &known, err) < 0)
        return -1;
    if (known)
        return 0;
    log_warning("deleting an object from the archive, because the database has no row for it",
                LOG_STR("object", one->key), LOG_INT("bytes", one->size));
    comparison->removed++;
    return objects_delete(comparison->objects, one->key, err);
}

/* Read the last byte, which exists only when the whole object does. */
int archive_look_for(struct objects *objects, const struct archive *archive, bool *there,
                     struct error **err)
{
    char byte;
    size_t got;
    *there = true;
    if (objects_read(objects, archive->key, archive->stored_bytes - 1, &byte, 1, &got, err) == 0) {
        *there = got == 1;
        return 0;
    }
    if (!error_clear_if(err, ERR_NOT_FOUND))
        return -1;
    *there = false;
    return 0;
}

static int compare_row(struct comparison *comparison, const struct archive *archive,
                       struct error **err)
{
    bool there, again;
    if (archive_look_for(comparison->objects, archive, &there, err) < 0)
        return -1;
    if (there)
        return 0;
    if (archive_row_may_be_made_again(comparison->worker->db, archive->id, &again, err) < 0)
        return -1;
    log_error(again ? "the archive has lost a copy; the dispatcher copies the object again"
                    : "the archive has lost a copy, and no host has the object; restore the file "
                      "from a backup of the archive",
              LOG_STR("object", archive->key),
              LOG_STR(archive_kind_names[archive->kind], archive->object_id));
    return again ? archive_row_drop(comparison->worker->db, archive->id, err) : 0;
}

static int compare_rows(struct comparison *comparison, struct error **err)
{
    char after[ID_SIZE] = "";
    unsigned count = AT_ONCE;
    int result = 0;
    autofree struct archive *list = xcalloc(AT_ONCE, sizeof *list);
    while (count == AT_ONCE && result == 0) {
        if (archive_row_list(comparison->worker->db, after, AT_ONCE, list, &count, err) < 0)
            return -1;
        for (unsigned i = 0; i < count; i++) {
            if (result == 0)
                result = compare_row(comparison, &list[i], err);
            memcpy(after, list[i].id, sizeof after);
            archive_deinit(&list[i]);
        }
    }
    return result;
}

int archive_sweep(struct worker *worker, struct error **err)
{
    struct comparison comparison = {.worker = worker, .before_ms = clock_now_ms() - STRAY_AGE_MS};
    if (!archive_is_on(worker->settings))
        return 0;
    if (archive_open(worker->settings, false, &comparison.objects, err) < 0)
        return -1;
    int result = 0;
    for (size_t i = 0; i < ARCHIVE_KINDS && result == 0; i++)
        result =
            objects_each(comparison.objects, archive_folders[i], compare_object, &comparison, err);
    if (result == 0)
        result = compare_rows(&comparison, err);
    objects_close(comparison.objects);
    return result;
}
