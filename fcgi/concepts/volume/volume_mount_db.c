/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "http/schema.h"
#include "volume/volume_mount.h"

DB_STATEMENT(lock_by_name_statement) = {
    "volume_mount.lock",
    "SELECT id, host_id FROM volumes"
    " WHERE team_id = ? AND name = ? AND taken = 1 AND state = 'ready' FOR UPDATE"};
DB_STATEMENT(place_statement) = {
    "volume_mount.place", "SELECT id, host_id, size_gb FROM volumes"
                          " WHERE team_id = ? AND name = ? AND taken = 1 AND state = 'ready'"};
DB_STATEMENT(generation_statement) = {
    "volume_mount.generation", "UPDATE volumes SET generation = generation + 1 WHERE id = ?"};
/* A sandbox may mount one volume in two places. */
DB_STATEMENT(attach_statement) = {
    "volume_mount.attach",
    "INSERT INTO sandbox_volumes (team_id, volume_id, sandbox_id) VALUES (?, ?, ?)"
    " ON DUPLICATE KEY UPDATE sandbox_id = sandbox_id"};
/* In the order in which volume_mounts_lock() locks. */
DB_STATEMENT(of_sandbox_statement) = {
    "volume_mount.of_sandbox",
    "SELECT v.id FROM sandbox_volumes a JOIN volumes v ON v.id = a.volume_id"
    " WHERE a.sandbox_id = ? ORDER BY v.name"};
DB_STATEMENT(find_statement) = {
    "volume_mount.find", "SELECT v.id FROM sandbox_volumes a JOIN volumes v ON v.id = a.volume_id"
                         " WHERE a.sandbox_id = ? AND v.name = ?"};
DB_STATEMENT(detach_statement) = {"volume_mount.detach",
                                  "DELETE FROM sandbox_volumes WHERE sandbox_id = ?"};
/* A deleted sandbox counts until its instance is gone. */
DB_STATEMENT(live_statement) = {
    "volume_mount.live",
    "SELECT 1 FROM sandbox_volumes a JOIN sandboxes s ON s.id = a.sandbox_id"
    " WHERE a.team_id = ? AND a.volume_id = ? AND s.state NOT IN ('stopped', 'destroyed') LIMIT 1"};

static int not_found(const struct volume_mount *mount, struct error **err)
{
    autofree char *pointer = schema_pointer("/volume_mounts", mount->path);
    return error_set_field(err, ERR_VOLUME_NOT_FOUND, pointer,
                           "The team has no volume with this name.");
}

static int begin_generation(struct db *db, const char *volume_id, struct error **err)
{
    return db_exec(db, &generation_statement, DB_ARGS(db_text(volume_id)), NULL, err);
}

static int lock_one(struct db *db, const char *team_id, struct volume_mount *mount,
                    uint32_t *host_id, struct error **err)
{
    uint32_t host;
    if (!mount->is_build_cache &&
        (!volume_name_is_valid(mount->name) || str_equal(mount->path, VOLUME_BUILD_CACHE_PATH)))
        return not_found(mount, err);
    {
        db_rows_auto *rows = NULL;
        if (db_query(db, &lock_by_name_statement, DB_ARGS(db_text(team_id), db_text(mount->name)),
                     &rows, err) < 0)
            return -1;
        if (!db_rows_next(rows))
            return not_found(mount, err);
        db_copy_text(mount->volume_id, rows, 0);
        host = (uint32_t)db_get_u64(rows, 1);
    }
    if (*host_id && host != *host_id) {
        autofree char *pointer = schema_pointer("/volume_mounts", mount->path);
        return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                               "The volume %s is on another host than the other volumes; a "
                               "sandbox can mount volumes of one host only.",
                               mount->name);
    }
    *host_id = host;
    return begin_generation(db, mount->volume_id, err);
}

static int by_name(const void *a, const void *b)
{
    const struct volume_mount *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

int volume_mounts_lock(struct db *db, const char *team_id, struct volume_mount *mounts,
                       unsigned count, uint32_t *host_id, struct error **err)
{
    struct volume_mount *ordered[VOLUME_MOUNTS_MAX];
    *host_id = 0;
    for (unsigned i = 0; i < count; i++)
        ordered[i] = &mounts[i];
    if (count)
        qsort(ordered, count, sizeof *ordered, by_name);
    for (unsigned i = 0; i < count; i++)
        if (lock_one(db, team_id, ordered[i], host_id, err) < 0)
            return -1;
    return 0;
}

int volume_mounts_attach(struct db *db, const char *team_id, const char *sandbox_id,
                         const struct volume_mount *mounts, unsigned count, struct error **err)
{
    for (unsigned i = 0; i < count; i++)
        if (db_exec(db, &attach_statement,
                    DB_ARGS(db_text(team_id), db_text(mounts[i].volume_id), db_text(sandbox_id)),
                    NULL, err) < 0)
            return -1;
    return 0;
}

int volume_mounts_places(struct db *db, const char *team_id, const struct volume_mount *mounts,
                         unsigned mount_count, struct volume_place places[VOLUME_MOUNTS_MAX],
                         unsigned *count, struct error **err)
{
    *count = 0;
    for (unsigned i = 0; i < mount_count; i++) {
        db_rows_auto *rows = NULL;
        if (db_query(db, &place_statement, DB_ARGS(db_text(team_id), db_text(mounts[i].name)),
                     &rows, err) < 0)
            return -1;
        if (!db_rows_next(rows)) {
            *count = 0;
            return 0;
        }
        db_copy_text(places[i].id, rows, 0);
        places[i].host_id = (uint32_t)db_get_u64(rows, 1);
        places[i].size_gb = (uint32_t)db_get_u64(rows, 2);
        ++*count;
    }
    return 0;
}

int volume_mounts_find(struct db *db, const char *sandbox_id, struct volume_mount *mounts,
                       unsigned count, struct error **err)
{
    for (unsigned i = 0; i < count; i++) {
        db_rows_auto *rows = NULL;
        if (db_query(db, &find_statement, DB_ARGS(db_text(sandbox_id), db_text(mounts[i].name)),
                     &rows, err) < 0)
            return -1;
        if (!db_rows_next(rows))
            return not_found(&mounts[i], err);
        db_copy_text(mounts[i].volume_id, rows, 0);
    }
    return 0;
}

int volume_mounts_lock_again(struct db *db, const char *sandbox_id, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &of_sandbox_statement, DB_ARGS(db_text(sandbox_id)), &rows, err) < 0)
        return -1;
    while (db_rows_next(rows)) /* writing the row locks it */
        if (begin_generation(db, db_get_text(rows, 0), err) < 0)
            return -1;
    return 0;
}

int volume_mounts_detach(struct db *db, const char *sandbox_id, struct error **err)
{
    return db_exec(db, &detach_statement, DB_ARGS(db_text(sandbox_id)), NULL, err);
}

int volume_is_live(struct db *db, const struct volume *volume, bool *live, struct error **err)
{
    return db_query_finds(db, &live_statement,
                          DB_ARGS(db_text(volume->team_id), db_text(volume->id)), live, err);
}
