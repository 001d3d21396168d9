/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "account/usage_kept.h"
#include "base/clock.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "base/str.h"
#include "volume/keeper.h"
#include "volume/volume_row.h"
#include "volume/volume_store.h"

#define RETRY_MS 3000 /* after a deletion that failed */

/* Replace errors of the database or the host by one for clients. */
static int public_error(const char *id, struct error **err)
{
    switch ((*err)->code) {
    case ERR_OUTCOME_UNKNOWN:
    case ERR_DB_UNAVAILABLE:
    case ERR_DB_FULL:
    case ERR_RUNTIME_UNAVAILABLE:
    case ERR_LEASE_LOST:
        log_warning(
            "cannot finish creating or deleting a volume; the client can repeat the request",
            LOG_STR("volume", id), LOG_ERROR(*err));
        error_clear(err);
        return error_set(err, ERR_RUNTIME_UNAVAILABLE,
                         "The runtime is not available at the moment; try again in a few seconds.");
    default:
        return -1;
    }
}

static int runtime_of(struct worker *worker, const struct volume *volume, struct runtime **runtime,
                      struct error **err)
{
    return runtimes_get(worker->runtimes, worker->db, volume->host_id, runtime, err);
}

/* --- making --- */

struct insert {
    struct worker *worker;
    const struct volume_create *request;
    struct volume *volume;
};

static int insert_body(struct db *db, void *context, struct error **err)
{
    struct insert *insert = context;
    const struct volume_create *request = insert->request;
    struct volume *volume = insert->volume;
    volume->created_at_ms = clock_now_ms();
    if (volume_row_admit(db, volume, err) < 0 ||
        volume_row_insert(db, volume, request->user_id, insert->worker->settings->lease_s, err) < 0)
        return -1;
    return request->claim ? request->claim(db, volume->id, request->claim_context, err) : 0;
}

struct give_up {
    struct volume *volume;
    bool leased; /* no other process creates the volume */
};

/* The volume is ready if the answer to the COMMIT was lost, or a repeated request has made it. */
static int give_up_body(struct db *db, void *context, struct error **err)
{
    const struct give_up *give_up = context;
    volume_auto now = {0};
    if (volume_get_any(db, give_up->volume->id, true, &now, err) < 0)
        return -1;
    give_up->volume->state = now.state;
    return give_up->leased && now.state == VOLUME_CREATING ? volume_row_delete(db, now.id, 0, err)
                                                           : 0;
}

static int ready_body(struct db *db, void *context, struct error **err)
{
    const struct volume *volume = context;
    if (volume_row_ready(db, volume->id, err) < 0)
        return -1;
    if (str_equal(volume->name, VOLUME_BUILD_CACHE))
        return 0;
    return usage_volume_begin(db, volume->id, volume->team_id, volume->size_gb, err);
}

static int tick(void *context, struct error **err)
{
    return lease_tick(context, err);
}

/* Create the volume on its host, and keep the lease of its row while Incus works. */
static int make_on_host(struct worker *worker, const struct volume *volume, struct error **err)
{
    char name[VOLUME_INSTANCE_SIZE];
    struct runtime *runtime;
    struct lease lease;
    volume_instance_name(volume->id, name);
    if (runtime_of(worker, volume, &runtime, err) < 0)
        return -1;
    volume_row_keep(worker->db, volume->id, worker->settings->lease_s, &lease);
    runtime->tick = tick;
    runtime->tick_context = &lease;
    int result = runtime->ops->volume->create(runtime, name, volume->size_gb, err);
    runtime->tick = NULL;
    return result;
}

/* Create the volume of a row; it may exist already. */
static int make(struct worker *worker, struct volume *volume, struct error **err)
{
    fault_point(FAULT_VOLUME_INSERTED);
    if (make_on_host(worker, volume, err) == 0) {
        fault_point(FAULT_VOLUME_MADE);
        if (db_transaction(worker->db, ready_body, volume, err) == 0) {
            volume->state = VOLUME_READY;
            return 0;
        }
    }
    /* If the database cannot be reached, the lease runs out, with the same result. */
    error_auto ignored = NULL;
    struct give_up give_up = {volume, (*err)->code != ERR_LEASE_LOST};
    if (db_transaction(worker->db, give_up_body, &give_up, &ignored) == 0 &&
        volume->state == VOLUME_READY) {
        error_clear(err);
        return 0;
    }
    if ((*err)->code == ERR_INSUFFICIENT_STORAGE) {
        log_warning("cannot create a volume; deleting it again", LOG_STR("volume", volume->id),
                    LOG_ERROR(*err));
        error_clear(err);
        return error_set(err, ERR_INSUFFICIENT_STORAGE,
                         "The storage of the host is full; try again later.");
    }
    return public_error(volume->id, err);
}

int volume_create(struct worker *worker, const struct volume_create *request, struct volume *volume,
                  struct error **err)
{
    struct insert insert = {worker, request, volume};
    *volume = (struct volume){.state = VOLUME_CREATING, .size_gb = request->size_gb};
    id_new("vol_", volume->id);
    memcpy(volume->team_id, request->team->id, sizeof volume->team_id);
    memcpy(volume->team_slug, request->team->slug, sizeof volume->team_slug);
    snprintf(volume->name, sizeof volume->name, "%s", request->name);
    if (db_transaction(worker->db, insert_body, &insert, err) < 0)
        return public_error(volume->id, err);
    log_context_set("volume", volume->id);
    return make(worker, volume, err);
}

int volume_create_again(struct worker *worker, const char *id, struct volume *volume,
                        struct error **err)
{
    if (volume_get_any(worker->db, id, false, volume, err) < 0)
        return -1;
    if (volume->state == VOLUME_CREATING)
        return make(worker, volume, err);
    if (volume->state == VOLUME_READY)
        return 0;
    return error_set(err, ERR_NOT_FOUND, "There is no such volume.");
}

/* --- removing --- */

struct removal {
    struct worker *worker;
    const char *id;
    struct volume *volume;
};

static int attached(const struct volume *volume, struct error **err)
{
    unsigned others = volume->attached_count - 1;
    const char *first = volume_user_called(&volume->attached_to[0]);
    if (!others)
        return error_set(err, ERR_VOLUME_ATTACHED,
                         "The volume is mounted in the sandbox %s; delete that first.", first);
    return error_set(err, ERR_VOLUME_ATTACHED,
                     "The volume is mounted in the sandbox %s and %u others; delete those first.",
                     first, others);
}

static int removal_body(struct db *db, void *context, struct error **err)
{
    struct removal *removal = context;
    struct volume *volume = removal->volume;
    volume_deinit(volume);
    if (volume_get_any(db, removal->id, true, volume, err) < 0)
        return -1;
    if (volume->state != VOLUME_READY)
        return error_set(err, ERR_NOT_FOUND, "There is no such volume.");
    if (volume_read_attached(db, volume, 1, err) < 0)
        return -1;
    if (volume->attached_count)
        return attached(volume, err);
    if (usage_kept_end(db, volume->id, err) < 0)
        return -1;
    return volume_row_delete(db, volume->id, removal->worker->settings->lease_s, err);
}

/* The volume server may have it mounted: from earlier use, or just now for a read that came too
 * late. */
static int delete_on_host(struct worker *worker, struct runtime *runtime,
                          const struct volume *volume, const char *name, struct error **err)
{
    if (volume->files_used_at_ms && keeper_unmount(worker, volume->host_id, volume->id, err) < 0)
        return -1;
    if (runtime->ops->volume->delete (runtime, name, err) == 0)
        return 0;
    if (!error_clear_if(err, ERR_VOLUME_ATTACHED))
        return -1;
    if (keeper_unmount(worker, volume->host_id, volume->id, err) < 0)
        return -1;
    return runtime->ops->volume->delete (runtime, name, err);
}

/* Delete the data of a volume whose row is in state deleting, with the lease held. */
static int take_away(struct worker *worker, const struct volume *volume, struct error **err)
{
    char name[VOLUME_INSTANCE_SIZE];
    struct runtime *runtime;
    volume_instance_name(volume->id, name);
    fault_point(FAULT_VOLUME_DELETING);
    bool removed = runtime_of(worker, volume, &runtime, err) == 0
                       ? delete_on_host(worker, runtime, volume, name, err) == 0
                       : (*err)->code == ERR_HOST_LOST;
    if (removed) {
        error_clear(err);
        fault_point(FAULT_VOLUME_REMOVED);
        return volume_row_deleted(worker->db, volume->id, err);
    }
    error_auto ignored = NULL;
    volume_row_defer(worker->db, volume->id, RETRY_MS, &ignored); /* or its lease runs out */
    return -1;
}

int volume_delete(struct worker *worker, const char *id, struct error **err)
{
    volume_auto volume = {0};
    struct removal removal = {worker, id, &volume};
    if (db_transaction(worker->db, removal_body, &removal, err) < 0)
        return public_error(id, err);
    error_auto failure = NULL;
    if (take_away(worker, &volume, &failure) < 0)
        log_warning("cannot finish deleting a volume; the dispatcher continues",
                    LOG_STR("volume", id), LOG_ERROR(failure));
    return 0;
}

/* --- recovery --- */

static int overdue_body(struct db *db, void *context, struct error **err)
{
    struct removal *removal = context;
    volume_deinit(removal->volume);
    return volume_row_take_overdue(db, removal->worker->settings->lease_s, removal->volume, err);
}

int volume_recover_next(struct worker *worker, bool *worked, struct error **err)
{
    volume_auto volume = {0};
    struct removal removal = {worker, NULL, &volume};
    *worked = false;
    if (db_transaction(worker->db, overdue_body, &removal, err) < 0)
        return -1;
    if (!volume.id[0])
        return 0;
    *worked = true;
    log_info("deleting a volume", LOG_STR("volume", volume.id));
    return take_away(worker, &volume, err);
}
