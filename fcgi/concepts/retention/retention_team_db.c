/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Delete the oldest ended rows of teams and sandboxes that have more than they may keep. */
#include "retention/retention_row.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/ulid.h"

/* Rows of one kind. holder: a team, or a sandbox. Identifiers begin with the time of creation.
 *
 * A statement that counted the rows of all holders could take longer than the server allows for a
 * statement, and then nothing would be deleted. So a call counts those of the next holders, with
 * about RETENTION_WINDOW rows together. */
struct kind {
    struct db_statement end;     /* the first holder behind these; no row: the last ones */
    struct db_statement crowded; /* holders with more than `kept` rows, RETENTION_HOLDERS at most */
    struct db_statement bound;   /* the newest row of a holder beyond `kept` */
    struct db_statement removal; /* a holder's rows up to that one, RETENTION_BATCH at most */
    unsigned kept;
};

#define WINDOW(name, holder, rows)                                                           \
    .end = {"retention." name "_end",                                                        \
            "SELECT " holder rows " " holder " > ? ORDER BY " holder " LIMIT 1 OFFSET ?"},   \
    .crowded = {"retention." name "_crowded",                                                \
                "SELECT " holder rows " " holder " > ? AND " holder " <= ? GROUP BY " holder \
                " HAVING COUNT(*) > ? ORDER BY " holder " LIMIT ?"}
#define BEHIND " DESC LIMIT 1 OFFSET ?"

static const struct kind sandboxes = {
    WINDOW("sandboxes", "team_id",
           " FROM sandboxes FORCE INDEX (sandboxes_stopped) WHERE state = 'destroyed' AND"),
    .bound = {"retention.sandboxes_bound",
              "SELECT id FROM sandboxes FORCE INDEX (sandboxes_list_state)"
              " WHERE team_id = ? AND state = 'destroyed' ORDER BY id" BEHIND},
    .removal = {"retention.sandboxes_of_team",
                "SELECT id FROM sandboxes FORCE INDEX (sandboxes_list_state) WHERE team_id = ?"
                " AND state = 'destroyed' AND id <= ? AND reserved = 0 AND operation_id IS NULL"
                " ORDER BY id LIMIT ?"},
    .kept = RETENTION_TEAM_MAX,
};
/* The indexes lead to versions of all states, not only of deleted ones. A version to which a row
 * refers stays, and so does the last version of a template that can get more. */
#define VERSIONS_OF                                                                        \
    " FROM templates t JOIN template_versions v ON v.template_id = t.id WHERE t.owner = ?" \
    " AND v.state = 'deleted'"
static const struct kind versions = {
    WINDOW("versions", "t.owner",
           " FROM templates t FORCE INDEX (templates_slug) STRAIGHT_JOIN template_versions v ON "
           "v.template_id = t.id"
           " WHERE v.state = 'deleted' AND"),
    .bound = {"retention.versions_bound", "SELECT v.id" VERSIONS_OF " ORDER BY v.id" BEHIND},
    .removal = {"retention.versions_of_team",
                "SELECT v.id, t.id" VERSIONS_OF " AND v.id <= ?" RETENTION_FREE_VERSION
                " ORDER BY v.id LIMIT ?"},
    .kept = RETENTION_TEAM_MAX,
};
static const struct kind others[] = {
    {WINDOW("checkpoints", "team_id",
            " FROM checkpoints FORCE INDEX (checkpoints_list) WHERE state = 'deleted' AND"),
     .bound = {"retention.checkpoints_bound",
               "SELECT id FROM checkpoints FORCE INDEX (checkpoints_list)"
               " WHERE team_id = ? AND state = 'deleted' ORDER BY id" BEHIND},
     .removal = {"retention.checkpoints_of_team",
                 "DELETE FROM checkpoints WHERE team_id = ? AND state = 'deleted' AND id <= ?"
                 " ORDER BY id LIMIT ?"},
     .kept = RETENTION_TEAM_MAX},
    {WINDOW("volumes", "team_id",
            " FROM volumes FORCE INDEX (volumes_list) WHERE state = 'deleted' AND"),
     .bound = {"retention.volumes_bound",
               "SELECT id FROM volumes FORCE INDEX (volumes_list)"
               " WHERE team_id = ? AND visible = 0 AND state = 'deleted' ORDER BY id" BEHIND},
     .removal = {"retention.volumes_of_team",
                 "DELETE FROM volumes WHERE team_id = ? AND state = 'deleted' AND id <= ?"
                 " AND NOT EXISTS (SELECT 1 FROM sandbox_volumes m"
                 "  WHERE m.team_id = volumes.team_id AND m.volume_id = volumes.id)"
                 " ORDER BY id LIMIT ?"},
     .kept = RETENTION_TEAM_MAX},
    {WINDOW("operations", "sandbox_id", " FROM operations FORCE INDEX (operations_sandbox) WHERE"),
     .bound = {"retention.operations_bound",
               "SELECT id FROM operations WHERE sandbox_id = ? ORDER BY id" BEHIND},
     .removal = {"retention.operations_of_sandbox",
                 "DELETE FROM operations WHERE sandbox_id = ? AND id <= ? AND state <> 'running'"
                 " ORDER BY id LIMIT ?"},
     .kept = RETENTION_OPERATIONS_MAX},
};

#define STATEMENTS(kind) &(kind).end, &(kind).crowded, &(kind).bound, &(kind).removal
DB_STATEMENTS(statements) = {STATEMENTS(sandboxes), STATEMENTS(versions), STATEMENTS(others[0]),
                             STATEMENTS(others[1]), STATEMENTS(others[2])};

/* The holder up to which this process has looked; "": it begins again. */
static char sandboxes_place[ID_SIZE], versions_place[ID_SIZE], places[ARRAY_SIZE(others)][ID_SIZE];

/* *gone: the number of deleted rows of this holder. */
static int remove_of(struct db *db, const struct kind *kind, retention_remove_listed *remove,
                     const char *holder, uint64_t *gone, struct error **err)
{
    db_rows_auto *bound = NULL, *rows = NULL;
    *gone = 0;
    if (db_query(db, &kind->bound, DB_ARGS(db_text(holder), db_u64(kind->kept)), &bound, err) < 0)
        return -1;
    if (!db_rows_next(bound))
        return 0;
    const struct db_value up_to = db_text(db_get_text(bound, 0));
    if (!remove)
        return db_exec(db, &kind->removal, DB_ARGS(db_text(holder), up_to, db_u64(RETENTION_BATCH)),
                       gone, err);
    if (db_query(db, &kind->removal, DB_ARGS(db_text(holder), up_to, db_u64(RETENTION_BATCH)),
                 &rows, err) < 0)
        return -1;
    return remove(db, rows, gone, err);
}

/* Find the last holder of the next window. *is_last: no holder comes behind it. */
static int find_end(struct db *db, const struct kind *kind, const char *place, char end[ID_SIZE],
                    bool *is_last, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &kind->end, DB_ARGS(db_text(place), db_u64(RETENTION_WINDOW)), &rows, err) < 0)
        return -1;
    *is_last = !db_rows_next(rows);
    /* "~" sorts behind every character of an id. */
    snprintf(end, ID_SIZE, "%s", *is_last ? "~" : db_get_text(rows, 0));
    return 0;
}

/* Look at the next holders of a kind, at the same ones again while they have many rows. */
static int remove_crowds(struct db *db, const struct kind *kind, char place[ID_SIZE],
                         retention_remove_listed *remove, bool *more, struct error **err)
{
    db_rows_auto *holders = NULL;
    char end[ID_SIZE];
    bool is_last, again = false;
    unsigned count = 0;
    if (find_end(db, kind, place, end, &is_last, err) < 0 ||
        db_query(
            db, &kind->crowded,
            DB_ARGS(db_text(place), db_text(end), db_u64(kind->kept), db_u64(RETENTION_HOLDERS)),
            &holders, err) < 0)
        return -1;
    while (db_rows_next(holders)) {
        uint64_t gone;
        if (remove_of(db, kind, remove, db_get_text(holders, 0), &gone, err) < 0)
            return -1;
        again |= gone == RETENTION_BATCH;
        if (++count == RETENTION_HOLDERS) {
            db_copy_text(end, holders, 0);
            is_last = false;
        }
    }
    *more |= again || !is_last;
    if (!again)
        snprintf(place, ID_SIZE, "%s", is_last ? "" : end);
    return 0;
}

int retention_team_remove(struct db *db, bool *more, struct error **err)
{
    if (remove_crowds(db, &sandboxes, sandboxes_place, retention_remove_sandboxes, more, err) < 0 ||
        remove_crowds(db, &versions, versions_place, retention_remove_versions, more, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (remove_crowds(db, &others[i], places[i], NULL, more, err) < 0)
            return -1;
    return 0;
}
