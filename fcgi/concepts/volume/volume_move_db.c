/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "host/host_answers.h"
#include "volume/volume_move.h"

/* Teams take turns, as with checkpoints. */
DB_STATEMENT(leaving_statement) = {
    "volume_move.leaving",
    "SELECT l.id FROM (SELECT v.id, v.team_id, ROW_NUMBER() OVER (PARTITION BY v.team_id"
    "   ORDER BY v.id) AS n FROM hosts h JOIN volumes v ON v.host_id = h.id"
    "   WHERE h.leaving > 0 AND h.lost_at_ms IS NULL AND " HOST_ANSWERS(
        "h.") "   AND v.state = 'ready' AND NOT EXISTS (SELECT 1 FROM sandbox_volumes a"
              "     JOIN sandboxes s ON s.id = a.sandbox_id WHERE a.team_id = v.team_id"
              "     AND a.volume_id = v.id AND s.state NOT IN ('stopped', 'destroyed'))"
              "   AND NOT EXISTS (SELECT 1 FROM moves m WHERE m.id = v.id"
              "     AND (m.state <> 'failed' OR m.finished_at_ms > ?))) l"
              " ORDER BY EXISTS (SELECT 1 FROM moves m WHERE m.team_id = l.team_id"
              "   AND m.state = 'copying'), l.n, RAND() LIMIT ?"};
/* The volumes of all sandboxes that have this volume. */
DB_STATEMENT(beside_statement) = {
    "volume_move.beside",
    "SELECT DISTINCT v.id, v.name FROM sandbox_volumes a"
    " JOIN sandbox_volumes b ON b.sandbox_id = a.sandbox_id JOIN volumes v ON v.id = b.volume_id"
    " WHERE a.team_id = ? AND a.volume_id = ? LIMIT 1000"};
DB_STATEMENT(addresses_statement) = {
    "volume_move.addresses",
    "SELECT s.address, t.virtual_machine FROM volumes v JOIN sandbox_volumes a"
    "   ON a.team_id = v.team_id AND a.volume_id = v.id"
    " JOIN sandboxes s ON s.id = a.sandbox_id"
    " JOIN template_versions t ON t.id = s.template_version_id"
    " WHERE v.id = ? AND s.state <> 'destroyed' LIMIT 100000"};
DB_STATEMENT(generation_statement) = {
    "volume_move.generation", "UPDATE volumes SET generation = generation + 1 WHERE id = ?"};
DB_STATEMENT(rehost_statement) = {
    "volume_move.rehost",
    "UPDATE volumes SET host_id = ?, keeper_epoch = '', files_used_at_ms = 0 WHERE id = ?"};

int volume_row_leaving(struct db *db, int64_t failed_before_ms, unsigned limit,
                       char (*ids)[ID_SIZE], unsigned *count, struct error **err)
{
    return move_leaving_ids(db, &leaving_statement, failed_before_ms, limit, ids, count, err);
}

/* --- volumes that move together --- */

struct member {
    char id[ID_SIZE];
    char name[VOLUME_NAME_MAX + 1];
};

struct group {
    struct member members[VOLUME_GROUP_MAX];
    unsigned count;
};

static int add(struct group *group, const char *id, const char *name, struct error **err)
{
    for (unsigned i = 0; i < group->count; i++)
        if (str_equal(group->members[i].id, id))
            return 0;
    if (group->count == VOLUME_GROUP_MAX)
        return error_set(err, ERR_INVALID_REQUEST,
                         "More than %d volumes would have to move together, because sandboxes "
                         "mount several of them.",
                         VOLUME_GROUP_MAX);
    struct member *member = &group->members[group->count++];
    snprintf(member->id, sizeof member->id, "%s", id);
    snprintf(member->name, sizeof member->name, "%s", name);
    return 0;
}

static int add_beside(struct db *db, struct group *group, const char *team_id, unsigned member,
                      struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &beside_statement,
                 DB_ARGS(db_text(team_id), db_text(group->members[member].id)), &rows, err) < 0)
        return -1;
    while (db_rows_next(rows))
        if (add(group, db_get_text(rows, 0), db_get_text(rows, 1), err) < 0)
            return -1;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct member *)a)->name, ((const struct member *)b)->name);
}

int volume_row_group(struct db *db, const struct volume *volume, char (*ids)[ID_SIZE],
                     unsigned *count, struct error **err)
{
    struct group group = {.count = 0};
    add(&group, volume->id, volume->name, err);
    for (unsigned i = 0; i < group.count; i++)
        if (add_beside(db, &group, volume->team_id, i, err) < 0)
            return -1;
    qsort(group.members, group.count, sizeof group.members[0], by_name);
    for (*count = 0; *count < group.count; ++*count)
        memcpy(ids[*count], group.members[*count].id, ID_SIZE);
    return 0;
}

int volume_row_addresses(struct db *db, const char *id, uint32_t **addresses, unsigned *count,
                         bool *machine, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &addresses_statement, DB_ARGS(db_text(id)), &rows, err) < 0)
        return -1;
    while (db_rows_next(rows)) {
        *addresses = xreallocarray(*addresses, *count + 1, sizeof **addresses);
        (*addresses)[(*count)++] = (uint32_t)db_get_u64(rows, 0);
        *machine = *machine || db_get_bool(rows, 1);
    }
    return 0;
}

int volume_row_new_generation(struct db *db, const char *id, struct error **err)
{
    return db_exec(db, &generation_statement, DB_ARGS(db_text(id)), NULL, err);
}

int volume_row_rehost(struct db *db, const char *id, uint32_t host_id, struct error **err)
{
    return db_exec(db, &rehost_statement, DB_ARGS(db_u64(host_id), db_text(id)), NULL, err);
}
