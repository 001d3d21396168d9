/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/clock.h"
#include "volume/keeper_row.h"
#include "volume/volume_mount.h"

#define USED_EVERY_MS 60000

DB_STATEMENT(get_statement) = {
    "keeper.get", "SELECT instance_name, address, secret_key_id FROM keepers WHERE host_id = ?"};
DB_STATEMENT(put_statement) = {
    "keeper.put",
    "INSERT INTO keepers (host_id, instance_name, address, secret_key_id, created_at_ms)"
    " VALUES (?, ?, ?, ?, ?)"};
DB_STATEMENT(delete_statement) = {"keeper.delete", "DELETE FROM keepers WHERE instance_name = ?"};

/* A copy of the volume that is being made for another host does not have the change, so a new
 * generation begins. */
DB_STATEMENT(epoch_statement) = {
    "volume_files.epoch",
    "UPDATE volumes SET keeper_epoch = ?, files_used_at_ms = ?, generation = generation"
    " + EXISTS (SELECT 1 FROM moves m WHERE m.id = volumes.id AND m.state IN ('copying', 'copied'))"
    " WHERE id = ?"};
DB_STATEMENT(used_statement) = {
    "volume_files.used", "UPDATE volumes SET files_used_at_ms = ? WHERE id = ? AND visible = 1"};
DB_STATEMENT(fences_statement) = {
    "volume_files.fences",
    "SELECT v.id, v.host_id, v.generation FROM sandbox_volumes a JOIN volumes v ON v.id = "
    "a.volume_id"
    " WHERE a.sandbox_id = ? AND v.keeper_epoch <> ''"};
DB_STATEMENT(fence_done_statement) = {
    "volume_files.fence_done",
    "UPDATE volumes SET keeper_epoch = '' WHERE id = ? AND generation = ?"};
DB_STATEMENT(idle_statement) = {
    "volume_files.idle",
    "SELECT id FROM volumes WHERE host_id = ? AND visible = 1 AND files_used_at_ms BETWEEN 1 AND ?"
    " ORDER BY files_used_at_ms LIMIT 1"};

/* unless it was used just now */
DB_STATEMENT(forget_statement) = {
    "volume_files.forget",
    "UPDATE volumes SET files_used_at_ms = 0 WHERE id = ? AND files_used_at_ms <= ?"};

int keeper_get(struct db *db, uint32_t host_id, struct keeper *keeper, struct error **err)
{
    db_rows_auto *rows = NULL;
    *keeper = (struct keeper){.host_id = host_id};
    if (db_query(db, &get_statement, DB_ARGS(db_u64(host_id)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    db_copy_text(keeper->instance_name, rows, 0);
    keeper->address = (uint32_t)db_get_u64(rows, 1);
    keeper->secret_key_id = (uint16_t)db_get_u64(rows, 2);
    return 0;
}

int keeper_put(struct db *db, const struct keeper *keeper, struct error **err)
{
    return db_exec(db, &put_statement,
                   DB_ARGS(db_u64(keeper->host_id), db_text(keeper->instance_name),
                           db_u64(keeper->address), db_u64(keeper->secret_key_id),
                           db_i64(clock_now_ms())),
                   NULL, err);
}

int keeper_delete(struct db *db, const char *instance_name, struct error **err)
{
    return db_exec(db, &delete_statement, DB_ARGS(db_text(instance_name)), NULL, err);
}

/* --- volumes --- */

int volume_files_admit(struct db *db, const char *epoch, struct volume *volume, struct error **err)
{
    char id[ID_SIZE];
    bool live;
    uint32_t host_id = volume->host_id;
    memcpy(id, volume->id, sizeof id);
    volume_deinit(volume);
    if (volume_get_any(db, id, true, volume, err) < 0)
        return -1;
    if (volume->state != VOLUME_READY)
        return error_set(err, ERR_NOT_FOUND, "There is no such volume.");
    if (volume->host_id != host_id)
        return error_set(err, ERR_RUNTIME_UNAVAILABLE, "volume %s has moved to another host", id);
    if (volume_is_live(db, volume, &live, err) < 0)
        return -1;
    if (live)
        return error_set(err, ERR_VOLUME_ATTACHED,
                         "A running sandbox has mounted the volume. Change the files in the "
                         "sandbox, or pause it first. Reading is possible.");
    return db_exec(db, &epoch_statement,
                   DB_ARGS(db_text(epoch), db_i64(clock_now_ms()), db_text(id)), NULL, err);
}

int volume_files_used(struct db *db, const struct volume *volume, struct error **err)
{
    int64_t now_ms = clock_now_ms();
    if (now_ms - volume->files_used_at_ms < USED_EVERY_MS)
        return 0;
    return db_exec(db, &used_statement, DB_ARGS(db_i64(now_ms), db_text(volume->id)), NULL, err);
}

static void read_volume_fence(const struct db_rows *rows, struct volume_fence *fence)
{
    db_copy_text(fence->volume_id, rows, 0);
    fence->host_id = (uint32_t)db_get_u64(rows, 1);
    fence->generation = db_get_u64(rows, 2);
}

int volume_fences(struct db *db, const char *sandbox_id, struct volume_fence **fences,
                  unsigned *count, struct error **err)
{
    return DB_LIST(db, &fences_statement, DB_ARGS(db_text(sandbox_id)), read_volume_fence, fences,
                   count, err);
}

int volume_fence_done(struct db *db, const struct volume_fence *fence, struct error **err)
{
    return db_exec(db, &fence_done_statement,
                   DB_ARGS(db_text(fence->volume_id), db_u64(fence->generation)), NULL, err);
}

int volume_files_idle(struct db *db, uint32_t host_id, int64_t since_ms, char id[ID_SIZE],
                      struct error **err)
{
    return db_query_text(db, &idle_statement, DB_ARGS(db_u64(host_id), db_i64(since_ms)), id,
                         ID_SIZE, err);
}

int volume_files_forget(struct db *db, const char *id, int64_t since_ms, struct error **err)
{
    return db_exec(db, &forget_statement, DB_ARGS(db_text(id), db_i64(since_ms)), NULL, err);
}
