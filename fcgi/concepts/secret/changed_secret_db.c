/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "secret/changed_secret.h"

#include "base/clock.h"
#include "base/log.h"
#include "secret/secret.h"

#define AT_ONCE   100   /* sandboxes in a transaction */
#define AT_CHANGE 3000  /* ms in the request that changes the secret */
#define DUE_MS    10000 /* later, a dispatcher does the rest */
#define AGAIN_MS  2000  /* after a failure of a dispatcher */

DB_STATEMENT(note_statement) = {
    "changed_secret.note",
    "INSERT INTO changed_secrets (team_id, name, done_up_to, due_at_ms) VALUES (?, ?, '', ?)"
    " ON DUPLICATE KEY UPDATE done_up_to = '', due_at_ms = VALUES(due_at_ms)"};
DB_STATEMENT(get_statement) = {"changed_secret.get",
                               "SELECT team_id, name, done_up_to FROM changed_secrets WHERE "
                               "team_id = ? AND name = ? FOR UPDATE"};
DB_STATEMENT(due_statement) = {
    "changed_secret.due",
    "SELECT team_id, name, done_up_to FROM changed_secrets WHERE due_at_ms <= ? ORDER BY due_at_ms"
    " LIMIT 1 FOR UPDATE SKIP LOCKED"};
DB_STATEMENT(sandboxes_statement) = {
    "changed_secret.sandboxes",
    "SELECT sandbox_id FROM sandbox_secrets WHERE team_id = ? AND name = ? AND sandbox_id > ?"
    " ORDER BY sandbox_id LIMIT ?"};
/* A paused sandbox gets its policy when it is resumed. */
DB_STATEMENT(touch_statement) = {
    "changed_secret.touch",
    "UPDATE sandboxes SET version = UUID_SHORT(), network_revision = network_revision + 1,"
    " network_due_at_ms = IF(reserved = 1, ?, network_due_at_ms) WHERE id = ?"};
DB_STATEMENT(move_statement) = {
    "changed_secret.move",
    "UPDATE changed_secrets SET done_up_to = ?, due_at_ms = ? WHERE team_id = ? AND name = ?"};
DB_STATEMENT(defer_statement) = {
    "changed_secret.defer",
    "UPDATE changed_secrets SET due_at_ms = ? WHERE team_id = ? AND name = ?"};
DB_STATEMENT(done_statement) = {"changed_secret.done",
                                "DELETE FROM changed_secrets WHERE team_id = ? AND name = ?"};

int changed_secret_note(struct db *db, const char *team_id, const char *name, struct error **err)
{
    return db_exec(db, &note_statement,
                   DB_ARGS(db_text(team_id), db_text(name), db_i64(clock_in_ms(DUE_MS))), NULL,
                   err);
}

struct row {
    char team_id[ID_SIZE], name[SECRET_NAME_MAX + 1], done_up_to[ID_SIZE];
};

/* One piece of work. The row of a changed secret is locked until the end. */
struct piece {
    const char *team_id, *name; /* NULL: of the secret that is due first */
    struct row row;
    bool found, more;
};

static int lock_row(struct db *db, struct piece *piece, struct error **err)
{
    db_rows_auto *rows = NULL;
    struct row *row = &piece->row;
    int result = piece->team_id
                     ? db_query(db, &get_statement,
                                DB_ARGS(db_text(piece->team_id), db_text(piece->name)), &rows, err)
                     : db_query(db, &due_statement, DB_ARGS(db_i64(clock_now_ms())), &rows, err);
    if (result < 0)
        return -1;
    piece->found = db_rows_next(rows);
    if (!piece->found)
        return 0;
    db_copy_text(row->team_id, rows, 0);
    db_copy_text(row->name, rows, 1);
    db_copy_text(row->done_up_to, rows, 2);
    return 0;
}

/* The rows of sandboxes are locked in the order of their ids, as by other changes of several. */
static int touch(struct db *db, struct row *row, unsigned *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    *count = 0;
    if (db_query(db, &sandboxes_statement,
                 DB_ARGS(db_text(row->team_id), db_text(row->name), db_text(row->done_up_to),
                         db_u64(AT_ONCE)),
                 &rows, err) < 0)
        return -1;
    for (; db_rows_next(rows); ++*count) {
        db_copy_text(row->done_up_to, rows, 0);
        if (db_exec(db, &touch_statement, DB_ARGS(db_i64(clock_now_ms()), db_text(row->done_up_to)),
                    NULL, err) < 0)
            return -1;
    }
    return 0;
}

static int piece_body(struct db *db, void *context, struct error **err)
{
    struct piece *piece = context;
    struct row *row = &piece->row;
    unsigned count;
    piece->more = false;
    if (lock_row(db, piece, err) < 0)
        return -1;
    if (!piece->found)
        return 0;
    if (touch(db, row, &count, err) < 0)
        return -1;
    piece->more = count == AT_ONCE;
    if (!piece->more)
        return db_exec(db, &done_statement, DB_ARGS(db_text(row->team_id), db_text(row->name)),
                       NULL, err);
    /* Other secrets that are due come first. */
    int64_t due_ms = piece->team_id ? clock_in_ms(DUE_MS) : clock_now_ms();
    return db_exec(db, &move_statement,
                   DB_ARGS(db_text(row->done_up_to), db_i64(due_ms), db_text(row->team_id),
                           db_text(row->name)),
                   NULL, err);
}

void changed_secret_spread(struct db *db, const char *team_id, const char *name)
{
    struct piece piece = {.team_id = team_id, .name = name, .more = true};
    int64_t until_ms = clock_monotonic_ms() + AT_CHANGE;
    error_auto failure = NULL;
    while (piece.more && clock_monotonic_ms() < until_ms)
        if (db_transaction(db, piece_body, &piece, &failure) < 0) {
            log_warning("cannot give a changed secret to all sandboxes yet; a dispatcher continues",
                        LOG_STR("team", team_id), LOG_STR("secret", name), LOG_ERROR(failure));
            return;
        }
}

int changed_secret_next(struct db *db, bool *worked, struct error **err)
{
    struct piece piece = {.team_id = NULL};
    error_auto ignored = NULL; /* the piece stays due */
    int result = db_transaction(db, piece_body, &piece, err);
    *worked = piece.found;
    /* The row of a sandbox may be locked for long. */
    if (result < 0 && piece.found)
        *worked = db_exec(db, &defer_statement,
                          DB_ARGS(db_i64(clock_in_ms(AGAIN_MS)), db_text(piece.row.team_id),
                                  db_text(piece.row.name)),
                          NULL, &ignored) == 0;
    return result;
}
