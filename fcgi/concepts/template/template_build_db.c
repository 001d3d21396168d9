/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Versions to build, and the end of versions. */
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_row.h"
#include "db/lease.h"
#include "event/event.h"
#include "template/template_columns.h"
#include "template/template_row.h"
#include "template/template_tag.h"

#define USERS_NAMED   5
#define USERS_COUNTED 1000

DB_STATEMENT(insert_statement) = {
    "template.insert_request",
    "INSERT INTO template_versions (id, template_id, version, state, virtual_machine, cpu,"
    " memory_mb, image, checkpoint_id, lease_until_ms, created_at_ms)"
    " VALUES (?, ?, ?, 'building', 0, ?, ?, ?, ?, ?, ?)"};
DB_STATEMENT(has_versions_statement) = {
    "template.has_versions",
    "SELECT 1 FROM template_versions v WHERE v.template_id = ? AND" TEMPLATE_SHOWN " LIMIT 1"};
DB_STATEMENT(count_statement) = {
    "template.count_versions",
    "SELECT COUNT(*) FROM templates t JOIN template_versions v ON v.template_id = t.id"
    " WHERE t.owner = ? AND v.state <> 'deleted'"};
DB_STATEMENT(image_of_statement) = {"template.image_of",
                                    "SELECT image_config FROM template_versions WHERE id = ?"};
DB_STATEMENT(image_statement) = {
    "template.set_image",
    "UPDATE template_versions SET image_config = ? WHERE id = ? AND state = 'building'"};
#define OWNER "(SELECT t.owner FROM templates t WHERE t.id = template_versions.template_id)"
static const struct lease_table builds = LEASE_TEAMS_OWNED(
    "template.building", "template_versions", "id", "lease_until_ms", "state = 'building'", OWNER);
DB_STATEMENT(get_statement) = {"template.get_building", TEMPLATE_COLUMNS " WHERE v.id = ?"};
DB_STATEMENT(built_statement) = {
    "template.built",
    "UPDATE template_versions SET state = ?, virtual_machine = ?, fingerprint = ?,"
    " lease_until_ms = NULL, finished_at_ms = ?"
    " WHERE id = ? AND lease_owner = ? AND state = 'building'"};

DB_STATEMENT(base_statement) = {
    "template.set_base",
    "UPDATE template_versions SET base_version_id = ?, virtual_machine = ?, from_image = ?"
    " WHERE id = ? AND state = 'building' AND lease_until_ms IS NULL"};
DB_STATEMENT(copy_statement) = {
    "template.copy_from",
    "UPDATE template_versions SET copied_host_id = ?, copied_instance = ?, start = ?,"
    " lease_until_ms = ? WHERE id = ? AND state = 'building' AND lease_until_ms IS NULL"};
DB_STATEMENT(copied_statement) = {
    "template.copied", "UPDATE template_versions SET copied_instance = NULL, lease_until_ms = NULL"
                       " WHERE id = ? AND lease_owner = ? AND state = 'building'"};
DB_STATEMENT(memory_statement) = {
    "template.set_memory",
    "UPDATE template_versions SET memory_id = ? WHERE id = ? AND state = 'building'"
    " AND memory_id IS NULL"};
DB_STATEMENT(started_statement) = {
    "template.started",
    "UPDATE template_versions SET state = 'ready', start = ?, memory_id = ?, finished_at_ms = ?"
    " WHERE id = ? AND state = 'building' AND start = 'pending'"};
DB_STATEMENT(same_statement) = {
    "template.same",
    "UPDATE template_versions v JOIN template_versions s ON s.id = ? AND s.state = 'ready'"
    " SET v.state = 'ready', v.virtual_machine = s.virtual_machine, v.size_mb = s.size_mb,"
    " v.image_config = s.image_config, v.start = s.start, v.memory_id = s.memory_id,"
    " v.finished_at_ms = ?"
    " WHERE v.id = ? AND v.state = 'building' AND v.lease_until_ms IS NULL"};
/* This locks the rows: of two versions that are deleted at the same time, the second one sees that
 * the first one is gone. */
DB_STATEMENT(shares_memory_statement) = {
    "template.shares_memory",
    "SELECT id FROM template_versions WHERE memory_id = ? AND id <> ? AND state = 'ready'"
    " LIMIT 1 FOR UPDATE"};
DB_STATEMENT(fail_statement) = {"template.fail",
                                "UPDATE template_versions SET state = 'failed', finished_at_ms = ?"
                                " WHERE id = ? AND state = 'building' AND lease_until_ms IS NULL"};

DB_STATEMENT(lock_version_statement) = {
    "template.lock_version",
    "SELECT id FROM template_versions v WHERE v.id = ? AND" TEMPLATE_SHOWN " FOR UPDATE"};
DB_STATEMENT(lock_versions_statement) = {
    "template.lock_versions",
    "SELECT id FROM template_versions v WHERE v.template_id = ? AND" TEMPLATE_SHOWN
    " ORDER BY id FOR UPDATE"};
/* Warm instances do not count as users: those of a version that is not ready are dismissed. Nor
 * does the sandbox of its own build. */
DB_STATEMENT(users_statement) = {
    "template.users",
    "SELECT s.id, s.team_id FROM sandboxes s WHERE s.template_version_id = ? AND s.visible = 1"
    " AND NOT EXISTS (SELECT 1 FROM template_recipes r"
    "   WHERE r.template_version_id = s.template_version_id AND r.sandbox_id = s.id)"
    " UNION ALL SELECT c.id, c.team_id FROM checkpoints c WHERE c.template_version_id = ? AND"
    " c.state IN ('creating', 'ready') AND c.name IS NOT NULL LIMIT ?"};
DB_STATEMENT(delete_version_statement) = {
    "template.delete_version",
    "UPDATE template_versions SET state = 'deleting', lease_until_ms = ? WHERE id = ?"};
DB_STATEMENT(no_recipe_statement) = {
    "template.no_recipe",
    "UPDATE template_recipes SET sealed = NULL WHERE template_version_id = ? AND state = 'done'"};
/* No slug looks like an id, so the slug becomes free and no slug leads to the row. */
DB_STATEMENT(free_slug_statement) = {"template.free_slug",
                                     "UPDATE templates SET slug = id WHERE id = ?"};
DB_STATEMENT(hold_statement) = {
    "template.hold",
    "SELECT 1 FROM template_versions WHERE id = ? AND state IN ('building', 'ready')"};

static const struct lease_table removals = LEASE_TEAMS_OWNED(
    "template.deleting", "template_versions", "id", "lease_until_ms", "state = 'deleting'", OWNER);
DB_STATEMENT(no_sources_statement) = {"template.no_sources",
                                      "DELETE FROM template_sources WHERE template_version_id = ?"};
DB_STATEMENT(deleted_statement) = {
    "template.deleted", "UPDATE template_versions SET state = 'deleted', lease_until_ms = NULL,"
                        " image_config = NULL, wanted_tags = NULL"
                        " WHERE id = ? AND state = 'deleting'"};
DB_STATEMENT(uses_source_statement) = {
    "template.uses_source",
    "SELECT 1 FROM template_versions WHERE id = ? AND state IN ('building', 'ready', 'deleting')"};

DB_STATEMENTS(statements) = {&builds.line,   &builds.due,   &builds.take,   &builds.renew,
                             &removals.line, &removals.due, &removals.take, &removals.renew};

/* --- requesting a build --- */

struct asking {
    const struct template_request *request;
    struct template_version *version;
};

/* The template's row is locked; a template without versions counts as absent. */
static int check_template(struct db *db, const struct asking *asking, struct error **err)
{
    bool there;
    if (db_query_finds(db, &has_versions_statement, DB_ARGS(db_text(asking->version->template_id)),
                       &there, err) < 0)
        return -1;
    if (asking->request->new_template && there)
        return error_set_field(err, ERR_NAME_TAKEN, "/slug",
                               "The team has a template \"%s\" already; add a version to it.",
                               asking->request->slug);
    if (!asking->request->new_template && !there)
        return error_set(err, ERR_NOT_FOUND, "There is no such template.");
    return 0;
}

static int check_checkpoint(struct db *db, const char *id, struct error **err)
{
    uint32_t host_id;
    if (checkpoint_hold(db, id, &host_id, err) == 0)
        return 0;
    if (!error_clear_if(err, ERR_NOT_FOUND))
        return -1;
    return error_set_field(err, ERR_INVALID_REQUEST, "/checkpoint_id",
                           "The team has no checkpoint of this id.");
}

/* The team's row is locked, so that parallel requests cannot exceed the bound together. */
static int check_room(struct db *db, const char *team_id, struct error **err)
{
    struct plan plan;
    unsigned count;
    if (team_lock(db, team_id, &plan, err) < 0 ||
        DB_NUMBER(db, &count_statement, DB_ARGS(db_text(team_id)), &count, err) < 0)
        return -1;
    if (count < TEMPLATE_VERSIONS_MAX)
        return 0;
    error_set(err, ERR_BUILD_QUOTA_EXCEEDED,
              "A team has at most %d template versions; delete one first.", TEMPLATE_VERSIONS_MAX);
    return error_add_limit(err, TEMPLATE_VERSIONS_MAX, count);
}

static int ask_body(struct db *db, void *context, struct error **err)
{
    struct asking *asking = context;
    const struct template_request *request = asking->request;
    struct template_version *version = asking->version;
    if (check_room(db, request->owner, err) < 0 || template_row_lock(db, version, err) < 0 ||
        check_template(db, asking, err) < 0 || template_row_number(db, version, err) < 0 ||
        (request->checkpoint_id && check_checkpoint(db, request->checkpoint_id, err) < 0) ||
        db_exec(db, &insert_statement,
                DB_ARGS(db_text(version->id), db_text(version->template_id),
                        db_u64(version->version), db_u64(version->cpu), db_u64(version->memory_mb),
                        db_text(version->image), db_text(request->checkpoint_id),
                        request->by_steps ? db_null() : db_i64(version->created_at_ms),
                        db_i64(version->created_at_ms)),
                NULL, err) < 0)
        return -1;
    return request->claim ? request->claim(db, version->id, request->claim_context, err) : 0;
}

int template_request_build(struct db *db, const struct template_request *request,
                           struct template_version *version, struct error **err)
{
    struct asking asking = {request, version};
    *version = (struct template_version){
        .state = TEMPLATE_BUILDING,
        .cpu = request->cpu,
        .memory_mb = request->memory_mb,
        .created_at_ms = clock_now_ms(),
    };
    id_new("tpv_", version->id);
    snprintf(version->owner, sizeof version->owner, "%s", request->owner);
    snprintf(version->slug, sizeof version->slug, "%s", request->slug);
    snprintf(version->image, sizeof version->image, "%s", request->image ? request->image : "");
    snprintf(version->checkpoint_id, sizeof version->checkpoint_id, "%s",
             request->checkpoint_id ? request->checkpoint_id : "");
    if (db_transaction(db, ask_body, &asking, err) < 0)
        return -1;
    return template_version_get(db, version->id, version, err);
}

/* --- building --- */

struct taking {
    const struct lease_table *table;
    const char *lease_owner;
    uint64_t lease_s;
    struct template_version *version;
    unsigned *attempts;
};

static int take_body(struct db *db, void *context, struct error **err)
{
    struct taking *taking = context;
    char id[LEASE_KEY_SIZE];
    bool found;
    *taking->version = (struct template_version){.id = ""};
    if (lease_take(db, taking->table, taking->lease_owner, taking->lease_s * 1000, id,
                   taking->attempts, err) < 0)
        return -1;
    if (!*id)
        return 0;
    return DB_FIND(db, &get_statement, DB_ARGS(db_text(id)), template_row_read, taking->version,
                   &found, err);
}

int template_row_take(struct db *db, const char *lease_owner, uint64_t lease_s,
                      struct template_version *version, unsigned *attempts, struct error **err)
{
    struct taking taking = {&builds, lease_owner, lease_s, version, attempts};
    return db_transaction(db, take_body, &taking, err);
}

int template_row_take_deleting(struct db *db, uint64_t lease_s, struct template_version *version,
                               struct error **err)
{
    unsigned attempts;
    struct taking taking = {&removals, "", lease_s, version, &attempts};
    return db_transaction(db, take_body, &taking, err);
}

void template_row_keep(struct db *db, const char *id, const char *lease_owner, uint64_t lease_s,
                       struct lease *lease)
{
    lease_keep(lease, db, &builds, id, lease_owner, lease_s * 1000);
}

int template_row_defer(struct db *db, const char *id, const char *lease_owner, uint64_t delay_ms,
                       struct error **err)
{
    return lease_defer(db, &builds, id, lease_owner, delay_ms, err);
}

int template_version_set_image(struct db *db, const char *id, const json_t *config,
                               struct error **err)
{
    autofree char *text = json_dumps(config, JSON_COMPACT);
    return db_exec(db, &image_statement, DB_ARGS(db_text(text), db_text(id)), NULL, err);
}

int template_version_image(struct db *db, const char *id, json_t **config, struct error **err)
{
    return db_query_json(db, &image_of_statement, DB_ARGS(db_text(id)), config, err);
}

static int tell(struct db *db, const struct template_version *version, bool ready,
                struct error **err)
{
    const struct event_note note = {
        ready ? EVENT_TEMPLATE_BUILT : EVENT_TEMPLATE_FAILED, version->owner, NULL,
        json_pack("{s:s, s:s, s:I}", "template", version->slug, "template_version", version->id,
                  "version", (json_int_t)version->version)};
    return event_add(db, &note, err);
}

/* Assign the wanted tags of a version that has become ready, and add its event, in the same
 * transaction. */
static int tell_ready(struct db *db, const struct template_version *version, struct error **err)
{
    unsigned left_out;
    if (template_tags_assign_wanted(db, version->template_id, version->id, &left_out, err) < 0)
        return -1;
    autofree char *line = xasprintf("%u tags are not assigned: a template has at most %d", left_out,
                                    TEMPLATE_TAGS_MAX);
    if (left_out && template_row_log(db, version->id, line, err) < 0)
        return -1;
    return tell(db, version, true, err);
}

static int taken_over(const struct template_version *version, struct error **err)
{
    return error_set(err, ERR_LEASE_LOST, "another process has taken the build of %s", version->id);
}

/* The version becomes ready when the memory is kept. */
static int set_copied(struct db *db, const char *lease_owner,
                      const struct template_version *version, struct error **err)
{
    uint64_t matched;
    if (db_exec(db, &copied_statement, DB_ARGS(db_text(version->id), db_text(lease_owner)),
                &matched, err) < 0)
        return -1;
    return matched ? 0 : taken_over(version, err);
}

int template_row_built(struct db *db, const char *lease_owner,
                       const struct template_version *version, bool ready, struct error **err)
{
    uint64_t matched;
    if (ready && version->start == TEMPLATE_START_PENDING)
        return set_copied(db, lease_owner, version, err);
    if (db_exec(db, &built_statement,
                DB_ARGS(db_text(template_state_names[ready ? TEMPLATE_READY : TEMPLATE_FAILED]),
                        db_bool(version->virtual_machine), db_text(version->fingerprint),
                        db_i64(clock_now_ms()), db_text(version->id), db_text(lease_owner)),
                &matched, err) < 0)
        return -1;
    if (!matched)
        return taken_over(version, err);
    return ready ? tell_ready(db, version, err) : tell(db, version, false, err);
}

/* --- by steps --- */

static int matched_or_gone(uint64_t matched, struct error **err)
{
    return matched ? 0 : error_set(err, ERR_NOT_FOUND, "The version is not being built.");
}

int template_version_set_base(struct db *db, const char *id, const struct template_version *base,
                              const char *from_image, struct error **err)
{
    uint64_t matched;
    if (db_exec(db, &base_statement,
                DB_ARGS(db_text(base->id), db_bool(base->virtual_machine), db_text(from_image),
                        db_text(id)),
                &matched, err) < 0)
        return -1;
    return matched_or_gone(matched, err);
}

int template_version_copy_from(struct db *db, const char *id, uint32_t host_id,
                               const char *instance_name, enum template_start start,
                               struct error **err)
{
    uint64_t matched;
    if (db_exec(db, &copy_statement,
                DB_ARGS(db_u64(host_id), db_text(instance_name),
                        db_text(template_start_names[start]), db_i64(clock_now_ms()), db_text(id)),
                &matched, err) < 0)
        return -1;
    return matched_or_gone(matched, err);
}

int template_version_set_memory(struct db *db, const char *id, const char *checkpoint_id,
                                struct error **err)
{
    uint64_t matched;
    if (db_exec(db, &memory_statement, DB_ARGS(db_text(checkpoint_id), db_text(id)), &matched,
                err) < 0)
        return -1;
    return matched_or_gone(matched, err);
}

/* Delete the memory of a version, unless another version has the same. */
static int drop_memory(struct db *db, const struct template_version *version, struct error **err)
{
    bool shared;
    if (!*version->memory_id)
        return 0;
    if (db_query_finds(db, &shares_memory_statement,
                       DB_ARGS(db_text(version->memory_id), db_text(version->id)), &shared,
                       err) < 0)
        return -1;
    return shared ? 0 : checkpoint_row_deleting(db, version->memory_id, 0, err);
}

int template_version_started(struct db *db, const struct template_version *version,
                             enum template_start start, struct error **err)
{
    uint64_t matched;
    bool kept = start == TEMPLATE_START_MEMORY;
    if (db_exec(db, &started_statement,
                DB_ARGS(db_text(template_start_names[start]),
                        kept ? db_text(version->memory_id) : db_null(), db_i64(clock_now_ms()),
                        db_text(version->id)),
                &matched, err) < 0 ||
        matched_or_gone(matched, err) < 0 || (!kept && drop_memory(db, version, err) < 0))
        return -1;
    return tell_ready(db, version, err);
}

int template_version_same(struct db *db, const struct template_version *version,
                          const char *same_id, uint32_t host_id, struct error **err)
{
    char owner[ID_SIZE], source[INSTANCE_NAME_SIZE];
    uint64_t matched;
    runtime_source_name(version->id, source);
    if (template_row_lock_ready(db, same_id, owner, err) < 0 ||
        db_exec(db, &same_statement,
                DB_ARGS(db_text(same_id), db_i64(clock_now_ms()), db_text(version->id)), &matched,
                err) < 0 ||
        matched_or_gone(matched, err) < 0 ||
        template_source_add(db, version->id, host_id, source, err) < 0)
        return -1;
    return tell_ready(db, version, err);
}

int template_version_fail(struct db *db, const struct template_version *version, struct error **err)
{
    uint64_t matched;
    if (db_exec(db, &fail_statement, DB_ARGS(db_i64(clock_now_ms()), db_text(version->id)),
                &matched, err) < 0 ||
        matched_or_gone(matched, err) < 0)
        return -1;
    return tell(db, version, false, err);
}

/* --- the end --- */

/* The users of a version, for the message of a refused deletion. Users of its owner are named,
 * those of other teams only counted. For a template of the deployment, all are named to the
 * operator. */
struct users {
    const struct template_version *version;
    struct buffer names;
    unsigned named, more, strangers;
};

static void add_user(struct users *users, const char *id, const char *team_id)
{
    const struct template_version *version = users->version;
    if (!template_is_deployments(version) && strcmp(team_id, version->owner) != 0)
        users->strangers++;
    else if (users->named == USERS_NAMED)
        users->more++;
    else
        buffer_printf(&users->names, "%s%s", users->named++ ? ", " : "", id);
}

static int refuse_users(struct users *users, struct error **err)
{
    unsigned count = users->named + users->more + users->strangers;
    if (!count)
        return 0;
    if (users->more)
        buffer_printf(&users->names, " and %u more", users->more);
    if (users->strangers)
        buffer_printf(&users->names, "%s%u of other teams", users->named ? ", and by " : "",
                      users->strangers);
    return error_set(err, ERR_TEMPLATE_IN_USE, "Version %u is used by %s; %s.",
                     users->version->version, buffer_string(&users->names),
                     users->strangers == count ? "you can delete it when these no longer exist"
                     : count == 1              ? "delete it first"
                                               : "delete them first");
}

/* With the version locked, so that no new use begins. */
static int refuse_used(struct db *db, const struct template_version *version, struct error **err)
{
    db_rows_auto *rows = NULL;
    const char *id = version->id;
    struct users users = {.version = version};
    if (db_query(db, &users_statement, DB_ARGS(db_text(id), db_text(id), db_u64(USERS_COUNTED)),
                 &rows, err) < 0)
        return -1;
    buffer_init(&users.names, 4096);
    while (db_rows_next(rows))
        add_user(&users, db_get_text(rows, 0), db_get_text(rows, 1));
    int result = refuse_users(&users, err);
    buffer_deinit(&users.names);
    return result;
}

static int delete_locked(struct db *db, const char *id, struct error **err)
{
    struct template_version version;
    if (template_version_get(db, id, &version, err) < 0 || refuse_used(db, &version, err) < 0 ||
        drop_memory(db, &version, err) < 0 || template_tags_forget(db, id, err) < 0 ||
        db_exec(db, &no_recipe_statement, DB_ARGS(db_text(id)), NULL, err) < 0)
        return -1;
    return db_exec(db, &delete_version_statement, DB_ARGS(db_i64(clock_now_ms()), db_text(id)),
                   NULL, err);
}

struct deletion {
    const char *id;
    bool whole_template;
};

static int delete_body(struct db *db, void *context, struct error **err)
{
    const struct deletion *deletion = context;
    db_rows_auto *rows = NULL;
    unsigned count = 0;
    if (db_query(db, deletion->whole_template ? &lock_versions_statement : &lock_version_statement,
                 DB_ARGS(db_text(deletion->id)), &rows, err) < 0)
        return -1;
    for (; db_rows_next(rows); count++)
        if (delete_locked(db, db_get_text(rows, 0), err) < 0)
            return -1;
    if (!count)
        return error_set(err, ERR_NOT_FOUND, "There is no such %s.",
                         deletion->whole_template ? "template" : "template version");
    return deletion->whole_template
               ? db_exec(db, &free_slug_statement, DB_ARGS(db_text(deletion->id)), NULL, err)
               : 0;
}

int template_version_delete(struct db *db, const char *version_id, struct error **err)
{
    struct deletion deletion = {version_id, false};
    return db_transaction(db, delete_body, &deletion, err);
}

int template_delete(struct db *db, const char *template_id, struct error **err)
{
    struct deletion deletion = {template_id, true};
    return db_transaction(db, delete_body, &deletion, err);
}

int template_version_hold(struct db *db, const char *id, struct error **err)
{
    bool found;
    if (db_query_finds(db, &hold_statement, DB_ARGS(db_text(id)), &found, err) < 0)
        return -1;
    return found ? 0
                 : error_set_field(err, ERR_TEMPLATE_NOT_FOUND, "/template",
                                   "The template version was deleted at the same time.");
}

static int deleted_body(struct db *db, void *context, struct error **err)
{
    const char *id = context;
    if (db_exec(db, &no_sources_statement, DB_ARGS(db_text(id)), NULL, err) < 0 ||
        template_row_log_delete(db, id, err) < 0)
        return -1;
    return db_exec(db, &deleted_statement, DB_ARGS(db_text(id)), NULL, err);
}

int template_row_deleted(struct db *db, const char *id, struct error **err)
{
    return db_transaction(db, deleted_body, (void *)id, err);
}

int template_row_uses_source(struct db *db, const char *version_id, bool *uses, struct error **err)
{
    return db_query_finds(db, &uses_source_statement, DB_ARGS(db_text(version_id)), uses, err);
}
