/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Delete the oldest ended rows of teams and sandboxes that have more than they may keep. */
#include "retention/retention_row.h"

/* Rows of one kind. holder: a team, or a sandbox. Identifiers begin with the time of creation. */
struct kind {
    struct db_statement crowded; /* holders with more than `kept` rows, RETENTION_HOLDERS at most */
    struct db_statement bound;   /* the newest row of a holder beyond `kept` */
    struct db_statement removal; /* a holder's rows up to that one, RETENTION_BATCH at most */
    unsigned kept;
};

#define CROWDED " HAVING COUNT(*) > ? LIMIT ?"
#define BEHIND  " DESC LIMIT 1 OFFSET ?"

static const struct kind sandboxes = {
    .crowded = {"retention.sandboxes_crowded",
                "SELECT team_id FROM sandboxes FORCE INDEX (sandboxes_stopped)"
                " WHERE state = 'destroyed' GROUP BY team_id" CROWDED},
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
    .crowded = {"retention.versions_crowded",
                "SELECT t.owner FROM template_versions v JOIN templates t ON t.id = v.template_id"
                " WHERE v.state = 'deleted' GROUP BY t.owner" CROWDED},
    .bound = {"retention.versions_bound", "SELECT v.id" VERSIONS_OF " ORDER BY v.id" BEHIND},
    .removal = {"retention.versions_of_team",
                "SELECT v.id, t.id" VERSIONS_OF " AND v.id <= ?" RETENTION_FREE_VERSION
                " ORDER BY v.id LIMIT ?"},
    .kept = RETENTION_TEAM_MAX,
};
static const struct kind others[] = {
    {.crowded = {"retention.checkpoints_crowded",
                 "SELECT team_id FROM checkpoints WHERE state = 'deleted'"
                 " GROUP BY team_id" CROWDED},
     .bound = {"retention.checkpoints_bound",
               "SELECT id FROM checkpoints FORCE INDEX (checkpoints_list)"
               " WHERE team_id = ? AND state = 'deleted' ORDER BY id" BEHIND},
     .removal = {"retention.checkpoints_of_team",
                 "DELETE FROM checkpoints WHERE team_id = ? AND state = 'deleted' AND id <= ?"
                 " ORDER BY id LIMIT ?"},
     .kept = RETENTION_TEAM_MAX},
    {.crowded = {"retention.volumes_crowded",
                 "SELECT team_id FROM volumes WHERE state = 'deleted' GROUP BY team_id" CROWDED},
     .bound = {"retention.volumes_bound",
               "SELECT id FROM volumes FORCE INDEX (volumes_list)"
               " WHERE team_id = ? AND visible = 0 AND state = 'deleted' ORDER BY id" BEHIND},
     .removal = {"retention.volumes_of_team",
                 "DELETE FROM volumes WHERE team_id = ? AND state = 'deleted' AND id <= ?"
                 " AND NOT EXISTS (SELECT 1 FROM sandbox_volumes m"
                 "  WHERE m.team_id = volumes.team_id AND m.volume_id = volumes.id)"
                 " ORDER BY id LIMIT ?"},
     .kept = RETENTION_TEAM_MAX},
    {.crowded = {"retention.operations_crowded",
                 "SELECT sandbox_id FROM operations FORCE INDEX (operations_sandbox)"
                 " GROUP BY sandbox_id" CROWDED},
     .bound = {"retention.operations_bound",
               "SELECT id FROM operations WHERE sandbox_id = ? ORDER BY id" BEHIND},
     .removal = {"retention.operations_of_sandbox",
                 "DELETE FROM operations WHERE sandbox_id = ? AND id <= ? AND state <> 'running'"
                 " ORDER BY id LIMIT ?"},
     .kept = RETENTION_OPERATIONS_MAX},
};

#define STATEMENTS(kind) &(kind).crowded, &(kind).bound, &(kind).removal
DB_STATEMENTS(statements) = {STATEMENTS(sandboxes), STATEMENTS(versions), STATEMENTS(others[0]),
                             STATEMENTS(others[1]), STATEMENTS(others[2])};

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

static int remove_crowds(struct db *db, const struct kind *kind, retention_remove_listed *remove,
                         bool *more, struct error **err)
{
    db_rows_auto *holders = NULL;
    if (db_query(db, &kind->crowded, DB_ARGS(db_u64(kind->kept), db_u64(RETENTION_HOLDERS)),
                 &holders, err) < 0)
        return -1;
    while (db_rows_next(holders)) {
        uint64_t gone;
        if (remove_of(db, kind, remove, db_get_text(holders, 0), &gone, err) < 0)
            return -1;
        *more |= gone == RETENTION_BATCH;
    }
    return 0;
}

int retention_team_remove(struct db *db, bool *more, struct error **err)
{
    if (remove_crowds(db, &sandboxes, retention_remove_sandboxes, more, err) < 0 ||
        remove_crowds(db, &versions, retention_remove_versions, more, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (remove_crowds(db, &others[i], NULL, more, err) < 0)
            return -1;
    return 0;
}
