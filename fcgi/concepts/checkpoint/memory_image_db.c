/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "checkpoint/memory_image.h"

#include <inttypes.h>

#include "host/host.h"

#define MIB_PER_GIB 1024

DB_STATEMENT(exists_statement) = {"memory_image.exists",
                                  "SELECT 1 FROM memory_images WHERE id = ?"};
DB_STATEMENT(lock_user_statement) = {"memory_image.lock_user",
                                     "SELECT 1 FROM users WHERE id = ? FOR UPDATE"};
/* A user's limit in all teams together is the largest plan among these teams. A team that the user
 * has left counts only itself: the user can delete nothing there, and its members have no access to
 * the user's other teams. */
DB_STATEMENT(used_statement) = {
    "memory_image.used",
    "SELECT (SELECT CAST(COALESCE(SUM(size_mb), 0) AS UNSIGNED) FROM memory_images"
    "   WHERE team_id = ?),"
    " (SELECT CAST(COALESCE(SUM(i.size_mb), 0) AS UNSIGNED) FROM memberships h"
    "   JOIN memory_images i ON i.user_id = h.user_id"
    "   JOIN memberships m ON m.user_id = i.user_id AND m.team_id = i.team_id"
    "   WHERE h.user_id = ? AND h.team_id = ?),"
    " (SELECT COALESCE(MAX(p.paused_memory_gb), 0) FROM memberships m"
    "   JOIN teams t ON t.id = m.team_id JOIN plans p ON p.name = t.plan WHERE m.user_id = ?)"};
DB_STATEMENT(insert_statement) = {
    "memory_image.insert",
    "INSERT INTO memory_images (id, team_id, user_id, size_mb) VALUES (?, ?, ?, ?)"};
DB_STATEMENT(drop_statement) = {"memory_image.drop", "DELETE FROM memory_images WHERE id = ?"};

static int exceeded(uint64_t limit_mb, uint64_t used_mb, uint32_t size_mb, const char *owner,
                    struct error **err)
{
    error_set(err, ERR_STOPPED_QUOTA_EXCEEDED,
              "%s keeps at most %" PRIu64 " MiB of memory of paused sandboxes and checkpoints, and "
              "has %" PRIu64 " MiB; this pause or checkpoint would add %" PRIu32
              " MiB. Delete or resume a sandbox first, or do not keep the memory.",
              owner, limit_mb, used_mb, size_mb);
    return error_add_limit(err, (uint32_t)limit_mb, (uint32_t)used_mb);
}

/* The locks put the transactions that count in order, so together they never exceed the plan. */
static int check(struct db *db, const struct memory_image *image, struct error **err)
{
    struct plan plan;
    bool ignored;
    db_rows_auto *rows = NULL;
    struct db_value team = db_text(image->team_id), user = db_text(image->user_id);
    if (db_query_finds(db, &lock_user_statement, DB_ARGS(user), &ignored, err) < 0 ||
        team_lock(db, image->team_id, &plan, err) < 0 ||
        db_query(db, &used_statement, DB_ARGS(team, user, team, user), &rows, err) < 0)
        return -1;
    db_rows_next(rows);
    uint64_t team_mb = db_get_u64(rows, 0), user_mb = db_get_u64(rows, 1);
    uint64_t team_gb = plan.paused_memory_gb, user_gb = db_get_u64(rows, 2);
    if (user_gb < team_gb)
        user_gb = team_gb;
    if (team_mb + image->size_mb > team_gb * MIB_PER_GIB)
        return exceeded(team_gb * MIB_PER_GIB, team_mb, image->size_mb, "The team", err);
    if (user_mb + image->size_mb > user_gb * MIB_PER_GIB)
        return exceeded(user_gb * MIB_PER_GIB, user_mb, image->size_mb,
                        "The user in all teams together", err);
    return 0;
}

int memory_image_take(struct db *db, const struct memory_image *image, struct error **err)
{
    bool found;
    if (db_query_finds(db, &exists_statement, DB_ARGS(db_text(image->id)), &found, err) < 0)
        return -1;
    if (found)
        return 0;
    uint32_t size_gb = (image->size_mb + MIB_PER_GIB - 1) / MIB_PER_GIB;
    if (!image->in_transit &&
        (check(db, image, err) < 0 || host_disk_reserve(db, image->host_id, size_gb, err) < 0))
        return -1;
    return db_exec(db, &insert_statement,
                   DB_ARGS(db_text(image->id), db_text(image->team_id), db_text(image->user_id),
                           db_u64(image->size_mb)),
                   NULL, err);
}

int memory_image_drop(struct db *db, const char *id, struct error **err)
{
    return db_exec(db, &drop_statement, DB_ARGS(db_text(id)), NULL, err);
}
