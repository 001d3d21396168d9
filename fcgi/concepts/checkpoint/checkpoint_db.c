/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/usage_kept.h"
#include "archive/archive.h"
#include "base/clock.h"
#include "base/mem.h"
#include "checkpoint/checkpoint_row.h"
#include "checkpoint/memory_image.h"
#include "db/lease.h"
#include "event/event.h"
#include "naming/name_columns.h"

#define SELECT_CHECKPOINT                                                                      \
    "SELECT c.id, c.team_id, t.slug, c.created_by, c.sandbox_id, c.incarnation, c.name,"       \
    " c.state, c.template_slug, c.template_version_id, v.virtual_machine, c.parent_id, c.cpu," \
    " c.memory_mb, c.disk_gb, c.size_mb, c.host_id, c.instance_name, c.created_at_ms,"         \
    " c.cleanup_at_ms, c.memory, c.for_fork, c.agent_instance, c.agent_key_id, "               \
    "c.version, " NAME_OF_SANDBOX(                                                             \
        "c.sandbox_id") " FROM checkpoints c JOIN teams t ON t.id = c.team_id"                 \
                        " JOIN template_versions v ON v.id = c.template_version_id"
/* The time in ms that a worker has to write the rows of a fork. If the worker dies, the fork's copy
 * stays this long. */
#define FORK_KEEP_MS 120000
#define NEWEST_FIRST                                                 \
    " AND (? IS NULL OR c.name = ? OR c.id = ?"                      \
    " OR (? = 1 AND SUBSTRING_INDEX(c.name, ':', 1) = ?))"           \
    " AND (? = 0 OR NOT EXISTS (SELECT 1 FROM"                       \
    " checkpoints n WHERE n.team_id = c.team_id AND n.name = c.name" \
    " AND n.version > c.version AND n.state = 'ready')) ORDER BY c.id DESC LIMIT ?"

DB_STATEMENT(get_statement) = {"checkpoint.get",
                               SELECT_CHECKPOINT " WHERE c.id = ? AND c.state = 'ready'"};
DB_STATEMENT(get_any_statement) = {"checkpoint.get_any", SELECT_CHECKPOINT " WHERE c.id = ?"};
DB_STATEMENT(lock_statement) = {"checkpoint.lock",
                                "SELECT id FROM checkpoints WHERE id = ? FOR UPDATE"};
DB_STATEMENT(kept_statement) = {"checkpoint.kept",
                                SELECT_CHECKPOINT " WHERE c.id = ? AND c.state = 'kept'"};
DB_STATEMENT(list_statement) = {
    "checkpoint.list",
    SELECT_CHECKPOINT " WHERE c.team_id = ? AND c.state = 'ready' AND c.id < ?" NEWEST_FIRST};
DB_STATEMENT(list_of_sandbox_statement) = {
    "checkpoint.list_of_sandbox",
    SELECT_CHECKPOINT " WHERE c.sandbox_id = ? AND c.state = 'ready' AND c.team_id = ?"
                      " AND c.id < ?" NEWEST_FIRST};
DB_STATEMENT(find_statement) = {"checkpoint.find", SELECT_CHECKPOINT
                                " WHERE c.team_id = ? AND c.name = ? AND (? = 0 OR c.version = ?)"
                                " AND c.state = 'ready' ORDER BY c.version DESC LIMIT 1"};
DB_STATEMENT(list_tags_statement) = {"checkpoint.list_tags", SELECT_CHECKPOINT
                                     " WHERE c.team_id = ? AND c.state = 'ready'"
                                     " AND SUBSTRING_INDEX(c.name, ':', 1) = ?"
                                     " ORDER BY c.name, c.version DESC LIMIT 100000"};
DB_STATEMENT(next_version_statement) = {
    "checkpoint.next_version",
    "SELECT COALESCE(MAX(version), 0) + 1 FROM checkpoints WHERE team_id = ? AND name = ?"};
/* MySQL and MariaDB both know this form of a shared lock. */
DB_STATEMENT(hold_statement) = {
    "checkpoint.hold",
    "SELECT host_id FROM checkpoints WHERE id = ? AND state IN ('ready', 'forking', 'kept')"
    " LOCK IN SHARE MODE"};
DB_STATEMENT(count_statement) = {
    "checkpoint.count",
    "SELECT COUNT(*) FROM checkpoints WHERE team_id = ? AND state IN ('creating', 'ready')"
    " AND name IS NOT NULL"};
DB_STATEMENT(insert_statement) = {
    "checkpoint.insert",
    "INSERT INTO checkpoints (id, team_id, created_by, sandbox_id, incarnation, name, state,"
    " template_slug, template_version_id, parent_id, cpu, memory_mb, disk_gb, size_mb, host_id,"
    " instance_name, memory, for_fork, agent_instance, agent_key_id, version, lease_until_ms,"
    " created_at_ms)"
    " VALUES (?, ?, ?, ?, ?, ?, 'creating', ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, 0, ?)"};
DB_STATEMENT(ready_statement) = {"checkpoint.ready",
                                 "UPDATE checkpoints SET state = ?, size_mb = ?, lease_until_ms = ?"
                                 " WHERE id = ? AND state = 'creating'"};
DB_STATEMENT(size_statement) = {"checkpoint.size", "SELECT size_mb FROM checkpoints WHERE id = ?"};
DB_STATEMENT(made_in_statement) = {
    "checkpoint.made_in",
    "SELECT id FROM checkpoints WHERE sandbox_id = ? AND incarnation = ? AND state = 'creating'"};
DB_STATEMENT(deleting_statement) = {
    "checkpoint.deleting", "UPDATE checkpoints SET state = 'deleting', lease_until_ms = ?"
                           " WHERE id = ? AND state IN ('creating', 'ready', 'forking', 'kept')"};
/* The row and its sandbox change in one transaction. So no other transaction sees an unfinished
 * checkpoint with another state of its sandbox. */
DB_STATEMENT(abandoned_statement) = {
    "checkpoint.abandoned",
    "SELECT c.id FROM checkpoints c JOIN sandboxes s ON s.id = c.sandbox_id"
    " WHERE c.state = 'creating' AND (s.incarnation <> c.incarnation OR"
    " s.state NOT IN ('checkpointing', 'copying'))"
    " UNION ALL"
    " SELECT id FROM checkpoints WHERE state = 'forking' AND lease_until_ms < ? LIMIT 100"};
static const struct lease_table removals = LEASE_TEAMS(
    "checkpoints", "checkpoints", "id", "lease_until_ms", "state = 'deleting'", "team_id");
DB_STATEMENT(in_use_statement) = {
    "checkpoint.in_use",
    "SELECT 1 FROM sandboxes s JOIN operations o ON o.id = s.operation_id"
    " WHERE s.snapshot_id = ? AND s.state = 'restoring' AND o.kind IN ('create', 'fork', "
    "'rollback')"
    " UNION ALL SELECT 1 FROM template_versions v"
    " WHERE v.checkpoint_id = ? AND v.state = 'building' LIMIT 1"};
DB_STATEMENT(forking_statement) = {
    "checkpoint.forking", "SELECT 1 FROM checkpoints c JOIN sandboxes s ON s.snapshot_id = c.id"
                          " JOIN operations o ON o.id = s.operation_id"
                          " WHERE c.sandbox_id = ? AND c.for_fork AND o.kind = 'fork' LIMIT 1"};
DB_STATEMENT(made_from_statement) = {
    "checkpoint.made_from",
    "SELECT instance_name FROM sandboxes WHERE snapshot_id = ? AND state <> 'destroyed'"
    " LIMIT 1000"};
DB_STATEMENT(deleted_statement) = {"checkpoint.deleted",
                                   "UPDATE checkpoints SET state = 'deleted', deleted_at_ms = ?"
                                   " WHERE id = ? AND state = 'deleting'"};
DB_STATEMENT(uses_instance_statement) = {
    "checkpoint.uses_instance",
    "SELECT 1 FROM checkpoints WHERE instance_name = ? AND host_id = ? AND state <> 'deleted'"};
DB_STATEMENT(of_instance_statement) = {
    "checkpoint.of_instance",
    "SELECT id FROM checkpoints WHERE instance_name = ? AND state <> 'deleted'"};
DB_STATEMENT(on_host_statement) = {
    "checkpoint.on_host",
    SELECT_CHECKPOINT " WHERE c.host_id = ? AND c.state IN ('ready', 'kept') LIMIT 1000000"};

DB_STATEMENTS(statements) = {&removals.line, &removals.due, &removals.take, &removals.renew};

/* --- reading --- */

static void read_checkpoint(const struct db_rows *rows, struct checkpoint *checkpoint)
{
    unsigned c = 0;
    db_copy_text(checkpoint->id, rows, c++);
    db_copy_text(checkpoint->team_id, rows, c++);
    db_copy_text(checkpoint->team_slug, rows, c++);
    db_copy_text(checkpoint->created_by, rows, c++);
    db_copy_text(checkpoint->sandbox_id, rows, c++);
    checkpoint->incarnation = (uint32_t)db_get_u64(rows, c++);
    db_copy_text(checkpoint->name, rows, c++);
    checkpoint->state = (enum checkpoint_state)db_get_name(rows, c++, checkpoint_state_names,
                                                           CHECKPOINT_STATE_COUNT);
    db_copy_text(checkpoint->template_slug, rows, c++);
    db_copy_text(checkpoint->template_version_id, rows, c++);
    checkpoint->virtual_machine = db_get_bool(rows, c++);
    db_copy_text(checkpoint->parent_id, rows, c++);
    checkpoint->cpu = (uint32_t)db_get_u64(rows, c++);
    checkpoint->memory_mb = (uint32_t)db_get_u64(rows, c++);
    checkpoint->disk_gb = (uint32_t)db_get_u64(rows, c++);
    checkpoint->size_mb = (uint32_t)db_get_u64(rows, c++);
    checkpoint->host_id = (uint32_t)db_get_u64(rows, c++);
    db_copy_text(checkpoint->instance_name, rows, c++);
    checkpoint->created_at_ms = db_get_i64(rows, c++);
    checkpoint->cleanup_at_ms = db_get_i64(rows, c++);
    checkpoint->memory = db_get_bool(rows, c++);
    checkpoint->for_fork = db_get_bool(rows, c++);
    db_copy_text(checkpoint->agent_instance, rows, c++);
    checkpoint->agent_key_id = (uint16_t)db_get_u64(rows, c++);
    checkpoint->version = (uint32_t)db_get_u64(rows, c++);
    db_copy_text(checkpoint->sandbox_name, rows, c++);
}

static int get_one(struct db *db, const struct db_statement *statement, const char *id,
                   struct checkpoint *checkpoint, struct error **err)
{
    return DB_ROW(db, statement, DB_ARGS(db_text(id)), "There is no such checkpoint.",
                  read_checkpoint, checkpoint, err);
}

int checkpoint_get(struct db *db, const char *id, struct checkpoint *checkpoint, struct error **err)
{
    return get_one(db, &get_statement, id, checkpoint, err);
}

int checkpoint_kept(struct db *db, const char *id, struct checkpoint *checkpoint,
                    struct error **err)
{
    bool found;
    checkpoint->id[0] = '\0';
    return DB_FIND(db, &kept_statement, DB_ARGS(db_text(id)), read_checkpoint, checkpoint, &found,
                   err);
}

int checkpoint_get_any(struct db *db, const char *id, bool lock, struct checkpoint *checkpoint,
                       struct error **err)
{
    if (lock) {
        db_rows_auto *rows = NULL;
        if (db_query(db, &lock_statement, DB_ARGS(db_text(id)), &rows, err) < 0)
            return -1;
    }
    return get_one(db, &get_any_statement, id, checkpoint, err);
}

int checkpoint_list(struct db *db, const struct checkpoint_filter *filter, struct checkpoint **list,
                    unsigned *count, struct error **err)
{
    /* after each id of this kind */
    struct db_value last = db_text(filter->before ? filter->before : "ckp_~");
    struct db_value team = db_text(filter->team_id), named = db_text(filter->name);
    struct db_value alone = db_bool(filter->last_alone), limit = db_u64(filter->limit);
    struct db_value any_tag = db_bool(filter->any_tag);
    if (filter->sandbox_id)
        return DB_LIST(db, &list_of_sandbox_statement,
                       DB_ARGS(db_text(filter->sandbox_id), team, last, named, named, named,
                               any_tag, named, alone, limit),
                       read_checkpoint, list, count, err);
    return DB_LIST(db, &list_statement,
                   DB_ARGS(team, last, named, named, named, any_tag, named, alone, limit),
                   read_checkpoint, list, count, err);
}

int checkpoint_list_tags(struct db *db, const char *team_id, const char *name,
                         struct checkpoint **list, unsigned *count, struct error **err)
{
    return DB_LIST(db, &list_tags_statement, DB_ARGS(db_text(team_id), db_text(name)),
                   read_checkpoint, list, count, err);
}

int checkpoint_hold(struct db *db, const char *id, uint32_t *host_id, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query_row(db, &hold_statement, DB_ARGS(db_text(id)), "There is no such checkpoint.",
                     &rows, err) < 0)
        return -1;
    *host_id = (uint32_t)db_get_u64(rows, 0);
    return 0;
}

int checkpoint_count(struct db *db, const char *team_id, unsigned *count, struct error **err)
{
    return DB_NUMBER(db, &count_statement, DB_ARGS(db_text(team_id)), count, err);
}

int checkpoint_row_size(struct db *db, const char *id, uint32_t *size_mb, struct error **err)
{
    return DB_NUMBER(db, &size_statement, DB_ARGS(db_text(id)), size_mb, err);
}

int checkpoint_row_made_in(struct db *db, const char *sandbox_id, uint32_t incarnation,
                           char id[ID_SIZE], struct error **err)
{
    return db_query_text(db, &made_in_statement, DB_ARGS(db_text(sandbox_id), db_u64(incarnation)),
                         id, ID_SIZE, err);
}

int checkpoint_row_in_use(struct db *db, const char *id, bool *in_use, struct error **err)
{
    return db_query_finds(db, &in_use_statement, DB_ARGS(db_text(id), db_text(id)), in_use, err);
}

int checkpoint_row_forking(struct db *db, const char *sandbox_id, bool *forking, struct error **err)
{
    return db_query_finds(db, &forking_statement, DB_ARGS(db_text(sandbox_id)), forking, err);
}

int checkpoint_row_made_from(struct db *db, const char *id, char (**names)[INSTANCE_NAME_SIZE],
                             unsigned *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    *names = NULL;
    *count = 0;
    if (db_query(db, &made_from_statement, DB_ARGS(db_text(id)), &rows, err) < 0)
        return -1;
    while (db_rows_next(rows)) {
        *names = xreallocarray(*names, *count + 1, sizeof **names);
        db_copy_text((*names)[*count], rows, 0);
        (*count)++;
    }
    return 0;
}

int checkpoint_row_uses_instance(struct db *db, uint32_t host_id, const char *instance_name,
                                 bool *uses, struct error **err)
{
    return db_query_finds(db, &uses_instance_statement,
                          DB_ARGS(db_text(instance_name), db_u64(host_id)), uses, err);
}

int checkpoint_row_of_instance(struct db *db, const char *instance_name, char id[ID_SIZE],
                               struct error **err)
{
    return db_query_text(db, &of_instance_statement, DB_ARGS(db_text(instance_name)), id, ID_SIZE,
                         err);
}

int checkpoint_row_on_host(struct db *db, uint32_t host_id, struct checkpoint **list,
                           unsigned *count, struct error **err)
{
    return DB_LIST(db, &on_host_statement, DB_ARGS(db_u64(host_id)), read_checkpoint, list, count,
                   err);
}

/* --- writing --- */

static int number(struct db *db, struct checkpoint *checkpoint, struct error **err)
{
    db_rows_auto *rows = NULL;
    checkpoint->version = 1;
    if (!checkpoint->name[0])
        return 0;
    if (db_query(db, &next_version_statement,
                 DB_ARGS(db_text(checkpoint->team_id), db_text(checkpoint->name)), &rows, err) < 0)
        return -1;
    if (db_rows_next(rows))
        checkpoint->version = (uint32_t)db_get_u64(rows, 0);
    return 0;
}

int checkpoint_row_insert(struct db *db, struct checkpoint *c, struct error **err)
{
    if (number(db, c, err) < 0)
        return -1;
    return db_exec(
        db, &insert_statement,
        DB_ARGS(db_text(c->id), db_text(c->team_id), db_text(c->created_by), db_text(c->sandbox_id),
                db_u64(c->incarnation), db_text(*c->name ? c->name : NULL),
                db_text(c->template_slug), db_text(c->template_version_id),
                db_text(*c->parent_id ? c->parent_id : NULL), db_u64(c->cpu), db_u64(c->memory_mb),
                db_u64(c->disk_gb), db_u64(c->host_id), db_text(c->instance_name),
                db_bool(c->memory), db_bool(c->for_fork), db_text(c->agent_instance),
                db_u64(c->agent_key_id), db_u64(c->version), db_i64(c->created_at_ms)),
        NULL, err);
}

int checkpoint_row_find(struct db *db, const char *team_id, const char *name, uint32_t version,
                        struct checkpoint *checkpoint, struct error **err)
{
    return DB_ROW(db, &find_statement,
                  DB_ARGS(db_text(team_id), db_text(name), db_u64(version), db_u64(version)),
                  "There is no such checkpoint.", read_checkpoint, checkpoint, err);
}

static int tell(struct db *db, const struct checkpoint *checkpoint, enum event_kind kind,
                struct error **err)
{
    if (!checkpoint->name[0])
        return 0;
    const struct event_note note = {
        kind, checkpoint->team_id, checkpoint->sandbox_id,
        json_pack("{s:s, s:s}", "checkpoint_id", checkpoint->id, "name", checkpoint->name)};
    return event_add(db, &note, err);
}

int checkpoint_row_ready(struct db *db, const struct checkpoint *c, struct error **err)
{
    uint64_t matched;
    if (db_exec(db, &ready_statement,
                DB_ARGS(db_text(checkpoint_state_names[checkpoint_state_made(c)]),
                        db_u64(c->size_mb), db_i64(c->for_fork ? clock_in_ms(FORK_KEEP_MS) : 0),
                        db_text(c->id)),
                &matched, err) < 0)
        return -1;
    return matched
               ? tell(db, c, EVENT_CHECKPOINT_CREATED, err)
               : error_set(err, ERR_LEASE_LOST, "another process is deleting checkpoint %s", c->id);
}

struct deleting {
    const char *id;
    uint64_t lease_s;
};

static int deleting_body(struct db *db, void *context, struct error **err)
{
    const struct deleting *deleting = context;
    struct checkpoint was;
    if (checkpoint_get_any(db, deleting->id, true, &was, err) < 0)
        return error_clear_if(err, ERR_NOT_FOUND) ? 0 : -1;
    if (db_exec(db, &deleting_statement,
                DB_ARGS(db_i64(clock_in_s(deleting->lease_s)), db_text(deleting->id)), NULL,
                err) < 0)
        return -1;
    if (was.state == CHECKPOINT_CREATING)
        return tell(db, &was, EVENT_CHECKPOINT_FAILED, err);
    if (was.state != CHECKPOINT_READY)
        return 0;
    if (usage_kept_end(db, was.id, err) < 0 ||
        archive_outdate(db, ARCHIVE_CHECKPOINT, was.id, err) < 0)
        return -1;
    return tell(db, &was, EVENT_CHECKPOINT_DELETED, err);
}

int checkpoint_row_deleting(struct db *db, const char *id, uint64_t lease_s, struct error **err)
{
    struct deleting deleting = {id, lease_s};
    return db_in_transaction(db) ? deleting_body(db, &deleting, err)
                                 : db_transaction(db, deleting_body, &deleting, err);
}

int checkpoint_row_abandon(struct db *db, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &abandoned_statement, DB_ARGS(db_i64(clock_now_ms())), &rows, err) < 0)
        return -1;
    while (db_rows_next(rows))
        if (checkpoint_row_deleting(db, db_get_text(rows, 0), 0, err) < 0)
            return -1;
    return 0;
}

int checkpoint_row_defer(struct db *db, const char *id, uint64_t delay_ms, struct error **err)
{
    return lease_defer(db, &removals, id, NULL, delay_ms, err);
}

int checkpoint_row_take_deleting(struct db *db, uint64_t lease_s, struct checkpoint *checkpoint,
                                 struct error **err)
{
    char id[LEASE_KEY_SIZE];
    *checkpoint = (struct checkpoint){0};
    if (lease_take(db, &removals, NULL, lease_s * 1000, id, NULL, err) < 0)
        return -1;
    return *id ? checkpoint_get_any(db, id, false, checkpoint, err) : 0;
}

/* The image's row is deleted first: a crash after it repeats the deletion of the checkpoint. */
int checkpoint_row_deleted(struct db *db, const char *id, struct error **err)
{
    if (memory_image_drop(db, id, err) < 0)
        return -1;
    return db_exec(db, &deleted_statement, DB_ARGS(db_i64(clock_now_ms()), db_text(id)), NULL, err);
}
