/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "template/template_tag.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

/* The lock on the template's row serialises assignments, so that the bound holds. */
DB_STATEMENT(lock_statement) = {"template_tag.lock",
                                "SELECT 1 FROM templates WHERE id = ? FOR UPDATE"};
/* Both servers know this form of a shared lock. */
DB_STATEMENT(hold_statement) = {
    "template_tag.hold",
    "SELECT 1 FROM template_versions WHERE id = ? AND template_id = ? AND state = 'ready'"
    " LOCK IN SHARE MODE"};
DB_STATEMENT(assign_statement) = {
    "template_tag.assign",
    "INSERT INTO template_tags (template_id, tag, template_version_id, assigned_at_ms)"
    " VALUES (?, ?, ?, ?) ON DUPLICATE KEY UPDATE"
    " template_version_id = VALUES(template_version_id), assigned_at_ms = VALUES(assigned_at_ms)"};
DB_STATEMENT(count_statement) = {"template_tag.count",
                                 "SELECT COUNT(*) FROM template_tags WHERE template_id = ?"};
DB_STATEMENT(want_statement) = {"template_tag.want",
                                "UPDATE template_versions SET wanted_tags = ? WHERE id = ?"};
DB_STATEMENT(wanted_statement) = {"template_tag.wanted",
                                  "SELECT wanted_tags FROM template_versions WHERE id = ?"};
DB_STATEMENT(room_statement) = {
    "template_tag.room",
    "SELECT COUNT(*), COALESCE(SUM(tag = ?), 0) FROM template_tags WHERE template_id = ?"};
DB_STATEMENT(remove_statement) = {"template_tag.remove",
                                  "DELETE FROM template_tags WHERE template_id = ? AND tag = ?"};
DB_STATEMENT(forget_statement) = {"template_tag.forget",
                                  "DELETE FROM template_tags WHERE template_version_id = ?"};
DB_STATEMENT(list_statement) = {
    "template_tag.list",
    "SELECT g.tag, g.template_version_id, v.version, g.assigned_at_ms FROM template_tags g"
    " JOIN template_versions v ON v.id = g.template_version_id"
    " WHERE g.template_id = ? ORDER BY g.tag LIMIT 1000"};

struct tagging {
    const char *template_id, *version_id;
    const char *const *tags;
    unsigned count;
    const char *field;
};

/* --- assigning --- */

int template_tag_check_plain(const char *tag, const char *field, struct error **err)
{
    if (str_equal(tag, TEMPLATE_TAG_LATEST))
        return error_set_field(
            err, ERR_INVALID_REQUEST, field,
            "The tag \"" TEMPLATE_TAG_LATEST
            "\" always means the newest version that is ready, and cannot be assigned.");
    if (template_tag_is_valid(tag) && strlen(tag) <= TEMPLATE_TAG_PLAIN_MAX &&
        strspn(tag, "0123456789") < strlen(tag))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, field,
                           "A tag is 1 to %d lower-case letters, digits, dots, underscores and "
                           "hyphens, beginning with a letter or a digit, and neither a number nor "
                           "an id.",
                           TEMPLATE_TAG_PLAIN_MAX);
}

static int check_tags(const struct tagging *tagging, struct error **err)
{
    for (unsigned i = 0; i < tagging->count; i++) {
        if (!template_tag_is_valid(tagging->tags[i]))
            return error_set_field(err, ERR_INVALID_REQUEST, tagging->field,
                                   "A tag is 1 to %d lower-case letters, digits, dots, underscores "
                                   "and hyphens, beginning with a letter or a digit, and not an "
                                   "id.",
                                   TEMPLATE_TAG_MAX);
    }
    return 0;
}

static int check_bound(struct db *db, const struct tagging *tagging, struct error **err)
{
    uint64_t count;
    if (DB_NUMBER(db, &count_statement, DB_ARGS(db_text(tagging->template_id)), &count, err) < 0)
        return -1;
    if (count <= TEMPLATE_TAGS_MAX)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, tagging->field,
                           "A template has at most %d tags; remove one first.", TEMPLATE_TAGS_MAX);
}

static int hold_version(struct db *db, const struct tagging *tagging, struct error **err)
{
    bool held;
    if (db_query_finds(db, &hold_statement,
                       DB_ARGS(db_text(tagging->version_id), db_text(tagging->template_id)), &held,
                       err) < 0)
        return -1;
    return held ? 0
                : error_set_field(err, ERR_INVALID_REQUEST, tagging->field,
                                  "Only a version that is ready can have tags.");
}

static int assign_one(struct db *db, const char *template_id, const char *version_id,
                      const char *tag, struct error **err)
{
    return db_exec(
        db, &assign_statement,
        DB_ARGS(db_text(template_id), db_text(tag), db_text(version_id), db_i64(clock_now_ms())),
        NULL, err);
}

static int assign_body(struct db *db, void *context, struct error **err)
{
    const struct tagging *tagging = context;
    bool there;
    if (db_query_finds(db, &lock_statement, DB_ARGS(db_text(tagging->template_id)), &there, err) <
            0 ||
        hold_version(db, tagging, err) < 0)
        return -1;
    for (unsigned i = 0; i < tagging->count; i++)
        if (assign_one(db, tagging->template_id, tagging->version_id, tagging->tags[i], err) < 0)
            return -1;
    return check_bound(db, tagging, err);
}

int template_tags_assign(struct db *db, const char *template_id, const char *version_id,
                         const char *const *tags, unsigned count, const char *field,
                         struct error **err)
{
    struct tagging tagging = {template_id, version_id, tags, count, field};
    return check_tags(&tagging, err) < 0 ? -1 : db_transaction(db, assign_body, &tagging, err);
}

int template_tags_want(struct db *db, const char *version_id, const json_t *tags,
                       struct error **err)
{
    autofree char *text = tags ? json_dumps(tags, JSON_COMPACT) : NULL;
    return db_exec(db, &want_statement, DB_ARGS(db_text(text), db_text(version_id)), NULL, err);
}

int template_tags_wanted(struct db *db, const char *version_id, json_t **tags, struct error **err)
{
    return db_query_json(db, &wanted_statement, DB_ARGS(db_text(version_id)), tags, err);
}

static int has_room(struct db *db, const char *template_id, const char *tag, bool *has,
                    struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &room_statement, DB_ARGS(db_text(tag), db_text(template_id)), &rows, err) < 0)
        return -1;
    *has = db_rows_next(rows) && (db_get_u64(rows, 0) < TEMPLATE_TAGS_MAX || db_get_u64(rows, 1));
    return 0;
}

int template_tags_assign_wanted(struct db *db, const char *template_id, const char *version_id,
                                unsigned *left_out, struct error **err)
{
    json_auto_t *tags = NULL;
    bool there, has;
    size_t at;
    json_t *tag;
    *left_out = 0;
    if (template_tags_wanted(db, version_id, &tags, err) < 0)
        return -1;
    if (!json_array_size(tags))
        return 0;
    if (db_query_finds(db, &lock_statement, DB_ARGS(db_text(template_id)), &there, err) < 0)
        return -1;
    json_array_foreach (tags, at, tag) {
        if (has_room(db, template_id, json_string_value(tag), &has, err) < 0 ||
            (has && assign_one(db, template_id, version_id, json_string_value(tag), err) < 0))
            return -1;
        *left_out += !has;
    }
    return 0;
}

/* --- removing --- */

static int remove_one(struct db *db, const char *template_id, const char *tag, struct error **err)
{
    uint64_t removed = 0;
    /* Other text is not sent to the database, whose column could refuse it. */
    if (template_tag_is_valid(tag) &&
        db_exec(db, &remove_statement, DB_ARGS(db_text(template_id), db_text(tag)), &removed, err) <
            0)
        return -1;
    return removed ? 0
                   : error_set(err, ERR_NOT_FOUND, "The template has no tag \"%.*s\".",
                               TEMPLATE_TAG_MAX, tag);
}

static int remove_body(struct db *db, void *context, struct error **err)
{
    const struct tagging *tagging = context;
    for (unsigned i = 0; i < tagging->count; i++)
        if (remove_one(db, tagging->template_id, tagging->tags[i], err) < 0)
            return -1;
    return 0;
}

int template_tags_remove(struct db *db, const char *template_id, const char *const *tags,
                         unsigned count, struct error **err)
{
    struct tagging tagging = {.template_id = template_id, .tags = tags, .count = count};
    return db_transaction(db, remove_body, &tagging, err);
}

int template_tags_forget(struct db *db, const char *version_id, struct error **err)
{
    return db_exec(db, &forget_statement, DB_ARGS(db_text(version_id)), NULL, err);
}

/* --- reading --- */

static void read_template_tag(const struct db_rows *rows, struct template_tag *tag)
{
    db_copy_text(tag->tag, rows, 0);
    db_copy_text(tag->version_id, rows, 1);
    tag->version = (uint32_t)db_get_u64(rows, 2);
    tag->assigned_at_ms = db_get_i64(rows, 3);
}

int template_tags_list(struct db *db, const char *template_id, struct template_tag **tags,
                       unsigned *count, struct error **err)
{
    return DB_LIST(db, &list_statement, DB_ARGS(db_text(template_id)), read_template_tag, tags,
                   count, err);
}
