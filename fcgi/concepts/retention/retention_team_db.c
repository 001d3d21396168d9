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
    retention_remove_listed *remove; /* NULL: `removal` deletes them itself */
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
    .remove = retention_remove_sandboxes,
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
    .remove = retention_remove_versions,
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

static const struct kind *const kinds[] = {&sandboxes, &versions, &others[0], &others[1],
                                           &others[2]};

/* How far this process has looked at a kind. An ended kind waits until the others have ended too:
 * kinds with different numbers of windows would seldom end in the same call. */
static struct round {
    char place[ID_SIZE]; /* the last holder; "": none yet */
    bool ended;
} rounds[ARRAY_SIZE(kinds)];

/* *gone: the number of deleted rows of this holder. */
static int remove_of(struct db *db, const struct kind *kind, const char *holder, uint64_t *gone,
                     struct error **err)
{
    db_rows_auto *bound = NULL, *rows = NULL;
    *gone = 0;
    if (db_query(db, &kind->bound, DB_ARGS(db_text(holder), db_u64(kind->kept)), &bound, err) < 0)
        return -1;
    if (!db_rows_next(bound))
        return 0;
    const struct db_value up_to = db_text(db_get_text(bound, 0));
    if (!kind->remove)
        return db_exec(db, &kind->removal, DB_ARGS(db_text(holder), up_to, db_u64(RETENTION_BATCH)),
                       gone, err);
    if (db_query(db, &kind->removal, DB_ARGS(db_text(holder), up_to, db_u64(RETENTION_BATCH)),
                 &rows, err) < 0)
        return -1;
    return kind->remove(db, rows, gone, err);
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
static int remove_crowds(struct db *db, const struct kind *kind, struct round *round,
                         struct error **err)
{
    db_rows_auto *holders = NULL;
    char end[ID_SIZE];
    bool is_last, again = false;
    unsigned count = 0;
    if (find_end(db, kind, round->place, end, &is_last, err) < 0 ||
        db_query(db, &kind->crowded,
                 DB_ARGS(db_text(round->place), db_text(end), db_u64(kind->kept),
                         db_u64(RETENTION_HOLDERS)),
                 &holders, err) < 0)
        return -1;
    while (db_rows_next(holders)) {
        uint64_t gone;
        if (remove_of(db, kind, db_get_text(holders, 0), &gone, err) < 0)
            return -1;
        again |= gone == RETENTION_BATCH;
        if (++count == RETENTION_HOLDERS) {
            db_copy_text(end, holders, 0);
            is_last = false;
        }
    }
    round->ended = is_last && !again;
    if (!again)
        snprintf(round->place, ID_SIZE, "%s", is_last ? "" : end);
    return 0;
}

static void begin_rounds(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rounds); i++)
        rounds[i].ended = false;
}

int retention_team_remove(struct db *db, bool *more, struct error **err)
{
    bool ended = true;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (!rounds[i].ended && remove_crowds(db, kinds[i], &rounds[i], err) < 0) {
            begin_rounds(); /* ended kinds do not wait for one that fails each time */
            return -1;
        }
        ended &= rounds[i].ended;
    }
    if (ended)
        begin_rounds();
    else
        *more = true;
    return 0;
}
