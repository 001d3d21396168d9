/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/str.h"
#include "template/template_columns.h"
#include "template/template_reference.h"
#include "template/template_row.h"

/* limits for an error that lists the existing names */
#define SLUGS_COMPARED_MAX 200
#define SLUGS_NAMED_MAX    10
#define VERSIONS_NAMED_MAX 5
#define DESCRIPTION_MAX    2048

#define IS_SEEN(t)         "(" t ".owner IN ('" TEAM_DEPLOYMENT_ID "', ?) OR " t ".is_public = 1)"
/* Only its owner sees that a version has failed. */
#define SHOWN_TO_TEAM TEMPLATE_SHOWN " AND (v.state <> 'failed' OR t.owner = ?)"

/* Find the template of a slug for a team. Its own comes before the deployment's, whose id sorts
 * before all others. */
#define FIND_TEMPLATE                                                                            \
    "SELECT x.id FROM templates x WHERE x.slug = ? AND x.owner IN ('" TEAM_DEPLOYMENT_ID "', ?)" \
    " ORDER BY x.owner DESC LIMIT 1"
DB_STATEMENT(find_statement) = {"template.find", FIND_TEMPLATE};
DB_STATEMENT(find_named_statement) = {"template.find_named",
                                      "SELECT x.id FROM teams o JOIN templates x ON x.owner = o.id"
                                      " WHERE o.slug = ? AND x.slug = ? AND " IS_SEEN("x")};

#define OF_TEMPLATE " WHERE v.template_id = ? AND v.state = 'ready'"
DB_STATEMENT(meant_statement) = {"template.meant", TEMPLATE_COLUMNS OF_TEMPLATE
                                 " AND v.id = " TEMPLATE_MEANT("t.id")};
/* The form of most creates: the slug alone. */
DB_STATEMENT(meant_by_slug_statement) = {
    "template.meant_by_slug", TEMPLATE_COLUMNS
    " WHERE t.id = (" FIND_TEMPLATE ") AND v.state = 'ready' AND v.id = " TEMPLATE_MEANT("t.id")};
/* A tag with this name wins over the number. */
DB_STATEMENT(by_number_statement) = {"template.by_number", TEMPLATE_COLUMNS
                                     " LEFT JOIN template_tags g ON g.template_version_id = v.id"
                                     " AND g.tag = ?" OF_TEMPLATE
                                     " AND (v.version = ? OR g.tag IS NOT NULL)"
                                     " ORDER BY g.tag IS NULL LIMIT 1"};
DB_STATEMENT(by_id_statement) = {"template.by_id", TEMPLATE_COLUMNS OF_TEMPLATE " AND v.id = ?"};
DB_STATEMENT(by_tag_statement) = {
    "template.by_tag", TEMPLATE_COLUMNS
    " JOIN template_tags g ON g.template_version_id = v.id" OF_TEMPLATE " AND g.tag = ?"};
/* The tag follows the newest version until it is assigned. */
DB_STATEMENT(by_latest_statement) = {"template.by_latest", TEMPLATE_COLUMNS
                                     " LEFT JOIN template_tags g ON g.template_version_id = v.id"
                                     " AND g.tag = ?" OF_TEMPLATE
                                     " ORDER BY g.tag IS NULL, v.version DESC LIMIT 1"};
DB_STATEMENT(by_template_statement) = {
    "template.by_template",
    TEMPLATE_COLUMNS " WHERE t.id = ? AND " IS_SEEN("t") " AND v.state = 'ready'"
                                                         " AND v.id = " TEMPLATE_MEANT("t.id")};
DB_STATEMENT(by_version_statement) = {"template.by_version", TEMPLATE_COLUMNS
                                      " WHERE v.id = ? AND " IS_SEEN("t") " AND v.state = 'ready'"};

/* For errors: the existing names. */
DB_STATEMENT(usable_statement) = {
    "template.usable",
    "SELECT DISTINCT t.slug FROM templates t JOIN template_versions v ON v.template_id = t.id"
    " WHERE t.owner IN ('" TEAM_DEPLOYMENT_ID "', ?) AND v.state = 'ready'"
    " ORDER BY t.slug LIMIT ?"};
DB_STATEMENT(states_statement) = {
    "template.states",
    "SELECT v.version, v.state FROM template_versions v JOIN templates t ON t.id = v.template_id"
    " WHERE v.template_id = ? AND" SHOWN_TO_TEAM " ORDER BY v.version DESC LIMIT ?"};

DB_STATEMENT(get_statement) = {"template.get", TEMPLATE_COLUMNS " WHERE v.id = ?"};
DB_STATEMENT(list_statement) = {"template.list", TEMPLATE_COLUMNS
                                " WHERE t.owner IN ('" TEAM_DEPLOYMENT_ID "', ?) AND" SHOWN_TO_TEAM
                                " ORDER BY t.slug, t.owner, v.version DESC LIMIT 100000"};
DB_STATEMENT(list_all_statement) = {"template.list_all", TEMPLATE_COLUMNS
                                    " WHERE" TEMPLATE_SHOWN
                                    " ORDER BY t.slug, t.owner, v.version DESC LIMIT 100000"};
DB_STATEMENT(list_named_statement) = {
    "template.list_named", TEMPLATE_COLUMNS
    " WHERE o.slug = ? AND t.slug = ? AND " IS_SEEN("t") " AND" SHOWN_TO_TEAM
                                                         " ORDER BY v.version DESC LIMIT 100000"};
DB_STATEMENT(missing_statement) = {
    "template.missing_sources", TEMPLATE_COLUMNS
    " LEFT JOIN template_sources s ON s.template_version_id = v.id AND s.host_id = ?"
    " WHERE v.state = 'ready' AND v.fingerprint <> '' AND s.host_id IS NULL ORDER BY v.id LIMIT "
    "100000"};

DB_STATEMENT(lock_statement) = {"template.lock",
                                "SELECT id FROM templates WHERE owner = ? AND slug = ? FOR UPDATE"};
DB_STATEMENT(insert_statement) = {
    "template.insert",
    "INSERT INTO templates (id, owner, slug, created_at_ms) VALUES (?, ?, ?, ?)"};
DB_STATEMENT(next_statement) = {
    "template.next_version",
    "SELECT COALESCE(MAX(version), 0) + 1 FROM template_versions WHERE template_id = ?"};
DB_STATEMENT(insert_version_statement) = {
    "template.insert_version",
    "INSERT INTO template_versions (id, template_id, version, state, virtual_machine, cpu,"
    " memory_mb, net_admin, image, created_at_ms) VALUES (?, ?, ?, 'building', 0, ?, ?, ?, ?, ?)"};
DB_STATEMENT(finish_statement) = {
    "template.finish",
    "UPDATE template_versions SET state = ?, virtual_machine = ?, fingerprint = ?,"
    " finished_at_ms = ? WHERE id = ? AND state = 'building'"};
DB_STATEMENT(measured_statement) = {"template.measured",
                                    "UPDATE template_versions SET size_mb = ? WHERE id = ?"};
DB_STATEMENT(public_statement) = {"template.public",
                                  "UPDATE templates SET is_public = ? WHERE id = ?"};
DB_STATEMENT(add_source_statement) = {
    "template.add_source",
    "INSERT INTO template_sources (template_version_id, host_id, instance_name) VALUES (?, ?, ?)"
    " ON DUPLICATE KEY UPDATE instance_name = ?"};

/* --- reading --- */

void template_row_read(const struct db_rows *rows, struct template_version *version)
{
    unsigned c = 0;
    db_copy_text(version->id, rows, c++);
    db_copy_text(version->template_id, rows, c++);
    db_copy_text(version->owner, rows, c++);
    db_copy_text(version->team_slug, rows, c++);
    db_copy_text(version->slug, rows, c++);
    version->version = (uint32_t)db_get_u64(rows, c++);
    version->state =
        (enum template_state)db_get_name(rows, c++, template_state_names, TEMPLATE_STATE_COUNT);
    version->virtual_machine = db_get_bool(rows, c++);
    version->cpu = (uint32_t)db_get_u64(rows, c++);
    version->memory_mb = (uint32_t)db_get_u64(rows, c++);
    db_copy_text(version->image, rows, c++);
    db_copy_text(version->fingerprint, rows, c++);
    version->created_at_ms = db_get_i64(rows, c++);
    version->template_created_at_ms = db_get_i64(rows, c++);
    db_copy_text(version->checkpoint_id, rows, c++);
    version->finished_at_ms = db_get_i64(rows, c++);
    version->net_admin = db_get_bool(rows, c++);
    version->is_public = db_get_bool(rows, c++);
    version->size_mb = (uint32_t)db_get_u64(rows, c++);
    db_copy_text(version->base_id, rows, c++);
    version->copied_host_id = (uint32_t)db_get_u64(rows, c++);
    db_copy_text(version->copied_instance, rows, c++);
    db_copy_text(version->from_image, rows, c++);
    version->start =
        (enum template_start)db_get_name(rows, c++, template_start_names, TEMPLATE_START_COUNT);
    db_copy_text(version->memory_id, rows, c++);
}

/* Find the template that a reference names by its slug; id "": none. */
static int find_template(struct db *db, const struct template_reference *reference,
                         const char *team_id, char id[ID_SIZE], struct error **err)
{
    struct db_value slug = db_text(reference->slug), team = db_text(team_id);
    return *reference->team
               ? db_query_text(db, &find_named_statement,
                               DB_ARGS(db_text(reference->team), slug, team), id, ID_SIZE, err)
               : db_query_text(db, &find_statement, DB_ARGS(slug, team), id, ID_SIZE, err);
}

static int query_tag(struct db *db, const char *template_id, const char *tag, struct db_rows **rows,
                     struct error **err)
{
    struct db_value id = db_text(template_id);
    if (str_equal(tag, TEMPLATE_TAG_DEFAULT))
        return db_query(db, &meant_statement, DB_ARGS(id), rows, err);
    if (str_equal(tag, TEMPLATE_TAG_LATEST))
        return db_query(db, &by_latest_statement, DB_ARGS(db_text(tag), id), rows, err);
    return db_query(db, &by_tag_statement, DB_ARGS(id, db_text(tag)), rows, err);
}

/* template_id: the template of the slug, if the reference has one. */
static int query_reference(struct db *db, const struct template_reference *reference,
                           const char *template_id, const char *team_id, struct db_rows **rows,
                           struct error **err)
{
    struct db_value template = db_text(template_id), team = db_text(team_id);
    struct db_value id = db_text(reference->id);
    switch (reference->kind) {
    case REFERENCE_SLUG:
        return db_query(db, &meant_statement, DB_ARGS(template), rows, err);
    case REFERENCE_SLUG_NUMBER:
        return db_query(db, &by_number_statement,
                        DB_ARGS(db_text(reference->tag), template, db_u64(reference->number)), rows,
                        err);
    case REFERENCE_SLUG_ID:
        return db_query(db, &by_id_statement, DB_ARGS(template, id), rows, err);
    case REFERENCE_SLUG_TAG:
        return query_tag(db, template_id, reference->tag, rows, err);
    case REFERENCE_TEMPLATE:
        return db_query(db, &by_template_statement, DB_ARGS(id, team), rows, err);
    case REFERENCE_VERSION:
        return db_query(db, &by_version_statement, DB_ARGS(id, team), rows, err);
    }
    return error_set(err, ERR_INTERNAL, "no such kind of template reference");
}

/* --- error for a name that leads to no version --- */

/* "2 is ready, 1 is failed": its newest versions; "": none. */
static int describe_versions(struct db *db, const char *template_id, const char *team_id,
                             struct buffer *text, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &states_statement,
                 DB_ARGS(db_text(template_id), db_text(team_id), db_u64(VERSIONS_NAMED_MAX)), &rows,
                 err) < 0)
        return -1;
    while (db_rows_next(rows))
        buffer_printf(text, "%s%llu is %s", text->size ? ", " : "",
                      (unsigned long long)db_get_u64(rows, 0), db_get_text(rows, 1));
    return 0;
}

/* "; did you mean "a"? The team may use: a, b." */
static int describe_usable(struct db *db, const char *team_id, const char *wanted,
                           struct buffer *text, struct error **err)
{
    char slugs[SLUGS_COMPARED_MAX][SLUG_MAX + 1];
    const char *names[SLUGS_COMPARED_MAX];
    size_t count = 0;
    db_rows_auto *rows = NULL;
    if (db_query(db, &usable_statement, DB_ARGS(db_text(team_id), db_u64(SLUGS_COMPARED_MAX)),
                 &rows, err) < 0)
        return -1;
    for (; count < SLUGS_COMPARED_MAX && db_rows_next(rows); count++) {
        db_copy_text(slugs[count], rows, 0);
        names[count] = slugs[count];
    }
    const char *nearest = str_nearest(wanted, names, count);
    if (nearest)
        buffer_printf(text, "; did you mean \"%s\"?", nearest);
    else
        buffer_append_char(text, '.');
    for (size_t i = 0; i < count && i < SLUGS_NAMED_MAX; i++)
        buffer_printf(text, "%s%s", i ? ", " : " The team may use: ", names[i]);
    buffer_append_string(text, !count                    ? " No template is ready."
                               : count > SLUGS_NAMED_MAX ? " and others."
                                                         : ".");
    return 0;
}

static const char *kind_word(const struct template_reference *reference)
{
    return reference->kind == REFERENCE_SLUG       ? "version"
           : reference->kind == REFERENCE_SLUG_TAG ? "tag with this name, and no such version"
                                                   : "such version";
}

static int refuse_unknown(struct db *db, const char *team_id, const char *text,
                          const struct template_reference *reference, const char *template_id,
                          const char *field, struct error **err)
{
    buffer_auto versions = BUFFER_INIT(DESCRIPTION_MAX), usable = BUFFER_INIT(DESCRIPTION_MAX);
    if (*template_id && describe_versions(db, template_id, team_id, &versions, err) < 0)
        return -1;
    if (versions.size)
        return error_set_field(err, ERR_TEMPLATE_NOT_FOUND, field,
                               "The template \"%s\" has no %s that is ready: %s.", reference->slug,
                               kind_word(reference), buffer_string(&versions));
    if (describe_usable(db, team_id, reference ? reference->slug : text, &usable, err) < 0)
        return -1;
    if (!reference)
        return error_set_field(err, ERR_TEMPLATE_NOT_FOUND, field,
                               "No template, template version or snapshot has this name%s",
                               buffer_string(&usable));
    return error_set_field(err, ERR_TEMPLATE_NOT_FOUND, field,
                           "Neither the team nor the deployment has a template \"%s\" that is "
                           "ready%s",
                           text, buffer_string(&usable));
}

static int resolve_slug(struct db *db, const struct template_reference *reference,
                        const char *team_id, struct template_version *version, bool *found,
                        struct error **err)
{
    *found = false;
    if (reference->kind != REFERENCE_SLUG || *reference->team)
        return 0;
    return DB_FIND(db, &meant_by_slug_statement,
                   DB_ARGS(db_text(reference->slug), db_text(team_id)), template_row_read, version,
                   found, err);
}

int template_resolve(struct db *db, const char *team_id, const char *text, const char *field,
                     struct template_version *version, struct error **err)
{
    struct template_reference reference;
    char template_id[ID_SIZE] = "";
    bool found;
    db_rows_auto *rows = NULL;
    if (template_reference_parse(text, &reference) < 0)
        return refuse_unknown(db, team_id, text, NULL, template_id, field, err);
    if (resolve_slug(db, &reference, team_id, version, &found, err) < 0)
        return -1;
    if (found)
        return 0;
    if (*reference.slug && find_template(db, &reference, team_id, template_id, err) < 0)
        return -1;
    if (query_reference(db, &reference, template_id, team_id, &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return refuse_unknown(db, team_id, text, &reference, template_id, field, err);
    template_row_read(rows, version);
    return 0;
}

int template_version_get(struct db *db, const char *id, struct template_version *version,
                         struct error **err)
{
    return DB_ROW(db, &get_statement, DB_ARGS(db_text(id)), "There is no such template version.",
                  template_row_read, version, err);
}

int template_version_list(struct db *db, const char *team_id, struct template_version **versions,
                          unsigned *count, struct error **err)
{
    if (team_id)
        return DB_LIST(db, &list_statement, DB_ARGS(db_text(team_id), db_text(team_id)),
                       template_row_read, versions, count, err);
    return DB_LIST(db, &list_all_statement, DB_NO_ARGS, template_row_read, versions, count, err);
}

int template_version_list_named(struct db *db, const char *team_id, const char *team_slug,
                                const char *slug, struct template_version **versions,
                                unsigned *count, struct error **err)
{
    return DB_LIST(db, &list_named_statement,
                   DB_ARGS(db_text(team_slug), db_text(slug), db_text(team_id), db_text(team_id)),
                   template_row_read, versions, count, err);
}

int template_set_public(struct db *db, const char *template_id, bool is_public, struct error **err)
{
    return db_exec(db, &public_statement, DB_ARGS(db_bool(is_public), db_text(template_id)), NULL,
                   err);
}

int template_missing_sources(struct db *db, uint32_t host_id, struct template_version **versions,
                             unsigned *count, struct error **err)
{
    return DB_LIST(db, &missing_statement, DB_ARGS(db_u64(host_id)), template_row_read, versions,
                   count, err);
}

/* --- building --- */

static int check_version(const struct template_version *version, const char *slug,
                         const char *image, struct error **err)
{
    if (!template_slug_is_valid(slug))
        return error_set_field(err, ERR_INVALID_REQUEST, "slug",
                               "A template's slug is 1 to 63 lower-case letters, digits, hyphens "
                               "and underscores, with no hyphen at either end.");
    size_t length = strlen(image);
    bool printable = true;
    for (size_t i = 0; i < length; i++)
        printable = printable && image[i] > 0x20 && image[i] < 0x7f;
    if (!length || length >= sizeof version->image || !printable)
        return error_set_field(err, ERR_INVALID_REQUEST, "image",
                               "An image is named by its alias or fingerprint, at most 255 "
                               "characters.");
    if (version->cpu < 1 || version->cpu > 1024)
        return error_set_field(err, ERR_INVALID_REQUEST, "cpu", "cpu must be 1 to 1024.");
    if (version->memory_mb < 64 || version->memory_mb > 16777216)
        return error_set_field(err, ERR_INVALID_REQUEST, "memory_mb",
                               "memory_mb must be 64 to 16777216.");
    return 0;
}

/* Lock the template's row, which orders the numbers of its versions. template_id is "" when the
 * template does not exist. */
static int lock_template(struct db *db, struct template_version *version, struct error **err)
{
    return db_query_text(db, &lock_statement,
                         DB_ARGS(db_text(version->owner), db_text(version->slug)),
                         version->template_id, ID_SIZE, err);
}

int template_row_lock(struct db *db, struct template_version *version, struct error **err)
{
    if (lock_template(db, version, err) < 0)
        return -1;
    if (*version->template_id)
        return 0;
    id_new("tpl_", version->template_id);
    if (db_exec(db, &insert_statement,
                DB_ARGS(db_text(version->template_id), db_text(version->owner),
                        db_text(version->slug), db_i64(version->created_at_ms)),
                NULL, err) == 0)
        return 0;
    if (!error_clear_if(err, ERR_DB_DUPLICATE)) /* another request created it meanwhile */
        return -1;
    return lock_template(db, version, err);
}

int template_row_number(struct db *db, struct template_version *version, struct error **err)
{
    return DB_NUMBER(db, &next_statement, DB_ARGS(db_text(version->template_id)), &version->version,
                     err);
}

static int add_body(struct db *db, void *context, struct error **err)
{
    struct template_version *version = context;
    if (template_row_lock(db, version, err) < 0 || template_row_number(db, version, err) < 0)
        return -1;
    return db_exec(db, &insert_version_statement,
                   DB_ARGS(db_text(version->id), db_text(version->template_id),
                           db_u64(version->version), db_u64(version->cpu),
                           db_u64(version->memory_mb), db_bool(version->net_admin),
                           db_text(version->image), db_i64(version->created_at_ms)),
                   NULL, err);
}

int template_version_add(struct db *db, const char *owner, const char *slug, const char *image,
                         uint32_t cpu, uint32_t memory_mb, bool net_admin,
                         struct template_version *version, struct error **err)
{
    *version = (struct template_version){
        .state = TEMPLATE_BUILDING,
        .cpu = cpu,
        .memory_mb = memory_mb,
        .net_admin = net_admin,
        .created_at_ms = clock_now_ms(),
    };
    if (check_version(version, slug, image, err) < 0)
        return -1;
    id_new("tpv_", version->id);
    snprintf(version->owner, sizeof version->owner, "%s", owner);
    snprintf(version->slug, sizeof version->slug, "%s", slug);
    snprintf(version->image, sizeof version->image, "%s", image);
    return db_transaction(db, add_body, version, err);
}

int template_version_finish(struct db *db, const char *id, bool ready, bool virtual_machine,
                            const char *fingerprint, struct error **err)
{
    uint64_t affected;
    if (db_exec(db, &finish_statement,
                DB_ARGS(db_text(template_state_names[ready ? TEMPLATE_READY : TEMPLATE_FAILED]),
                        db_bool(virtual_machine), db_text(fingerprint ? fingerprint : ""),
                        db_i64(clock_now_ms()), db_text(id)),
                &affected, err) < 0)
        return -1;
    if (!affected)
        return error_set(err, ERR_NOT_FOUND, "No template version of this id is being built.");
    return 0;
}

int template_row_measured(struct db *db, const char *id, uint32_t size_mb, struct error **err)
{
    return db_exec(db, &measured_statement, DB_ARGS(db_u64(size_mb), db_text(id)), NULL, err);
}

int template_source_add(struct db *db, const char *version_id, uint32_t host_id,
                        const char *instance_name, struct error **err)
{
    return db_exec(db, &add_source_statement,
                   DB_ARGS(db_text(version_id), db_u64(host_id), db_text(instance_name),
                           db_text(instance_name)),
                   NULL, err);
}
