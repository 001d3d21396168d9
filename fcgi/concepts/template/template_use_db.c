/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "template/template_use.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define COMMITTED_AFTER_MS 120000

/* An owner's sandboxes that are read for one list; the rest comes with the next count. */
#define READ_MOST 10000
/* Sandboxes in one count. After a long pause, a count of all would take longer than a statement
 * may. */
#define COUNT_MOST 100000

DB_STATEMENT(before_statement) = {"template_use.before",
                                  "SELECT counted_before FROM template_uses WHERE id = 1"};
/* Through the owner's own sandboxes: other teams may create many in the meantime. The first
 * start is a value for the index; the second one belongs to the counts that this statement reads.
 */
DB_STATEMENT(list_statement) = {
    "template_use.list",
    "SELECT t.id, t.sandboxes_made + COALESCE(n.made, 0),"
    " GREATEST(t.last_made_at_ms, COALESCE(n.last_at_ms, 0)) FROM templates t"
    " LEFT JOIN (SELECT v.template_id, COUNT(*) AS made, MAX(s.created_at_ms) AS last_at_ms FROM"
    "   (SELECT template_version_id, snapshot_id, created_at_ms FROM sandboxes"
    "     FORCE INDEX (sandboxes_list) WHERE team_id = ? AND visible IN (0, 1) AND id >= ?"
    "     AND id >= (SELECT counted_before FROM template_uses WHERE id = 1) LIMIT ?) s"
    "   JOIN template_versions v ON v.id = s.template_version_id WHERE s.snapshot_id IS NULL"
    "   GROUP BY v.template_id) n ON n.template_id = t.id"
    " WHERE t.owner = ? ORDER BY t.id LIMIT 100000"};
DB_STATEMENT(lock_statement) = {"template_use.lock",
                                "SELECT counted_before FROM template_uses WHERE id = 1 FOR UPDATE"};
DB_STATEMENT(end_statement) = {
    "template_use.end",
    "SELECT id FROM sandboxes WHERE id >= ? AND id < ? ORDER BY id LIMIT 1 OFFSET ?"};
/* Identifiers of sandboxes begin with the time of their create request. */
DB_STATEMENT(since_statement) = {"template_use.since",
                                 "SELECT v.template_id, COUNT(*), MAX(s.created_at_ms)"
                                 " FROM sandboxes s"
                                 " JOIN template_versions v ON v.id = s.template_version_id"
                                 " WHERE s.snapshot_id IS NULL AND s.id >= ? AND s.id < ?"
                                 " GROUP BY v.template_id"};
DB_STATEMENT(add_statement) = {"template_use.add",
                               "UPDATE templates SET sandboxes_made = sandboxes_made + ?,"
                               " last_made_at_ms = GREATEST(last_made_at_ms, ?) WHERE id = ?"};
DB_STATEMENT(counted_statement) = {"template_use.counted",
                                   "UPDATE template_uses SET counted_before = ? WHERE id = 1"};

static void read_template_use(const struct db_rows *rows, struct template_use *use)
{
    db_copy_text(use->template_id, rows, 0);
    use->sandboxes = db_get_u64(rows, 1);
    use->last_at_ms = db_get_i64(rows, 2);
}

int template_uses_list(struct db *db, const char *owner, struct template_use **uses,
                       unsigned *count, struct error **err)
{
    db_rows_auto *before = NULL;
    *uses = NULL;
    *count = 0;
    if (db_query(db, &before_statement, DB_NO_ARGS, &before, err) < 0)
        return -1;
    const char *since = db_rows_next(before) ? db_get_text(before, 0) : "";
    return DB_LIST(db, &list_statement,
                   DB_ARGS(db_text(owner), db_text(since), db_u64(READ_MOST), db_text(owner)),
                   read_template_use, uses, count, err);
}

static int by_template(const void *id, const void *use)
{
    return strcmp(id, ((const struct template_use *)use)->template_id);
}

struct template_use template_use_of(const struct template_use *uses, unsigned count,
                                    const char *template_id)
{
    const struct template_use *found =
        count ? bsearch(template_id, uses, count, sizeof *uses, by_template) : NULL;
    return found ? *found : (struct template_use){0};
}

static int add(struct db *db, const struct db_rows *made, struct error **err)
{
    return db_exec(db, &add_statement,
                   DB_ARGS(db_u64(db_get_u64(made, 1)), db_i64(db_get_i64(made, 2)),
                           db_text(db_get_text(made, 0))),
                   NULL, err);
}

/* Find the end of a count: COUNT_MOST sandboxes after its start, or at before. */
static int find_end(struct db *db, const char *start, const char *before, char end[ID_SIZE],
                    struct error **err)
{
    if (db_query_text(db, &end_statement,
                      DB_ARGS(db_text(start), db_text(before), db_u64(COUNT_MOST)), end, ID_SIZE,
                      err) < 0)
        return -1;
    if (!*end)
        memcpy(end, before, ID_SIZE);
    return 0;
}

static int count_body(struct db *db, void *context, struct error **err)
{
    const char *before = context;
    char end[ID_SIZE];
    db_rows_auto *counted = NULL, *made = NULL;
    if (db_query(db, &lock_statement, DB_NO_ARGS, &counted, err) < 0)
        return -1;
    if (!db_rows_next(counted) || strcmp(db_get_text(counted, 0), before) >= 0)
        return 0; /* another dispatcher's clock is ahead */
    const char *start = db_get_text(counted, 0);
    if (find_end(db, start, before, end, err) < 0 ||
        db_query(db, &since_statement, DB_ARGS(db_text(start), db_text(end)), &made, err) < 0)
        return -1;
    while (db_rows_next(made))
        if (add(db, made, err) < 0)
            return -1;
    return db_exec(db, &counted_statement, DB_ARGS(db_text(end)), NULL, err);
}

int template_uses_count(struct db *db, struct error **err)
{
    char before[ID_SIZE];
    id_floor("sbx_", clock_now_ms() - COMMITTED_AFTER_MS, before);
    return db_transaction(db, count_body, before, err);
}
