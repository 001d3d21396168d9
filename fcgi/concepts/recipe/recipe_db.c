/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "account/account.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/aead.h"
#include "recipe/recipe_image.h"
#include "recipe/recipe_progress.h"
#include "recipe/recipe_row.h"
#include "template/template_tag.h"

static const char *const state_names[] = {"waiting", "running", "copying", "starting", "done"};
static const char *const code_names[] = {"", "no_user"};

DB_STATEMENT(count_statement) = {
    "recipe.count", "SELECT COUNT(*) FROM template_recipes WHERE team_id = ? AND state <> 'done'"};
DB_STATEMENT(insert_statement) = {
    "recipe.insert", "INSERT INTO template_recipes (template_version_id, team_id, user_id, state,"
                     " lease_until_ms, created_at_ms) VALUES (?, ?, ?, 'waiting', ?, ?)"};
DB_STATEMENT(begin_statement) = {
    "recipe.begin", "UPDATE template_recipes SET state = 'running', sealed = ?, step_titles = ?,"
                    " lease_until_ms = ?, attempts = 0"
                    " WHERE template_version_id = ? AND state = 'waiting'"};
DB_STATEMENT(give_up_statement) = {"recipe.give_up",
                                   "UPDATE template_recipes SET failure = ?, lease_until_ms = ?"
                                   " WHERE template_version_id = ? AND state = 'waiting'"};
DB_STATEMENT(status_statement) = {
    "recipe.status",
    "SELECT state, failed_step, failure, failure_code, no_user FROM template_recipes"
    " WHERE template_version_id = ?"};

DB_STATEMENT(steps_statement) = {
    "recipe.steps",
    "SELECT COALESCE(step_titles, ''), COALESCE(step_times, ''), COALESCE(failed_step, '')"
    " FROM template_recipes WHERE template_version_id = ?"};

static const struct lease_table recipes =
    LEASE_TEAMS_OWNED("recipe", "template_recipes", "template_version_id", "lease_until_ms",
                      "state <> 'done'", "team_id");
DB_STATEMENT(get_statement) = {
    "recipe.get",
    "SELECT team_id, user_id, state, sandbox_id, step, begun, output_at, sealed, failure,"
    " cached_at_ms, step_times"
    " FROM template_recipes WHERE template_version_id = ?"};
#define OURS " WHERE template_version_id = ? AND lease_owner = ? AND state <> 'done'"
DB_STATEMENT(sandbox_statement) = {"recipe.set_sandbox",
                                   "UPDATE template_recipes SET sandbox_id = ?, step = ?,"
                                   " cached_at_ms = ?" OURS};
DB_STATEMENT(no_sandbox_statement) = {"recipe.no_sandbox",
                                      "UPDATE template_recipes SET sandbox_id = NULL, begun = 0,"
                                      " output_at = 0, attempts = 0" OURS};
DB_STATEMENT(cached_statement) = {"recipe.cached",
                                  "UPDATE template_recipes SET cached_at_ms = ?" OURS};
DB_STATEMENT(progress_statement) = {
    "recipe.progress",
    "UPDATE template_recipes SET step = ?, begun = ?, output_at = ?, step_times = ?" OURS};
DB_STATEMENT(seal_statement) = {"recipe.seal",
                                "UPDATE template_recipes SET sealed = ?, step_titles = ?" OURS};
DB_STATEMENT(copying_statement) = {"recipe.copying",
                                   "UPDATE template_recipes SET state = 'copying',"
                                   " result_key = COALESCE(?, result_key)" OURS};
DB_STATEMENT(starting_statement) = {
    "recipe.starting",
    "UPDATE template_recipes SET state = 'starting', sandbox_id = NULL, step = ?, begun = 0,"
    " output_at = 0, attempts = 0" OURS};
DB_STATEMENT(done_statement) = {
    "recipe.done",
    "UPDATE template_recipes SET state = 'done', sandbox_id = NULL, lease_until_ms = NULL,"
    " sealed = IF(? AND EXISTS (SELECT 1 FROM template_versions v"
    "   WHERE v.id = template_version_id AND v.state = 'failed'), sealed, NULL)" OURS};
DB_STATEMENT(kept_statement) = {
    "recipe.kept",
    "SELECT sealed FROM template_recipes WHERE template_version_id = ? AND state = 'done'"};
DB_STATEMENT(fail_statement) = {
    "recipe.fail",
    "UPDATE template_recipes SET state = 'copying', failed_step = ?, failure = ?, failure_code = ?,"
    " no_user = ?" OURS};

DB_STATEMENT(builders_statement) = {"recipe.builders",
                                    "SELECT sandbox_id FROM template_recipes WHERE team_id = ?"
                                    " AND state <> 'done' AND sandbox_id IS NOT NULL LIMIT ?"};

DB_STATEMENTS(statements) = {&recipes.line, &recipes.due, &recipes.take, &recipes.renew};

/* --- asking --- */

int recipe_sandboxes(struct db *db, const char *team_id, json_t **ids, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &builders_statement, DB_ARGS(db_text(team_id), db_u64(RECIPE_UNFINISHED)),
                 &rows, err) < 0)
        return -1;
    for (*ids = json_array(); db_rows_next(rows);)
        json_array_append_new(*ids, json_string(db_get_text(rows, 0)));
    return 0;
}

int recipe_open(struct db *db, const char *version_id, const struct recipe_owner *owner,
                struct error **err)
{
    const char *team_id = owner->team_id;
    struct plan plan;
    db_rows_auto *rows = NULL;
    if (team_lock(db, team_id, &plan, err) < 0 ||
        db_query(db, &count_statement, DB_ARGS(db_text(team_id)), &rows, err) < 0)
        return -1;
    db_rows_next(rows);
    unsigned unfinished = (unsigned)db_get_u64(rows, 0);
    if (unfinished >= RECIPE_UNFINISHED) {
        error_set(
            err, ERR_BUILD_QUOTA_EXCEEDED,
            "A team has at most %d template builds with steps at once; wait until one has ended.",
            RECIPE_UNFINISHED);
        return error_add_limit(err, RECIPE_UNFINISHED, unfinished);
    }
    if (db_exec(db, &insert_statement,
                DB_ARGS(db_text(version_id), db_text(team_id), db_text(owner->user_id),
                        db_i64(clock_in_ms(RECIPE_WAIT_MS)), db_i64(clock_now_ms())),
                NULL, err) < 0)
        return -1;
    return template_tags_want(db, version_id, owner->tags, err);
}

int recipe_give_up(struct db *db, const char *version_id, const char *failure, struct error **err)
{
    autofree char *text = str_mend(failure, RECIPE_FAILURE_SIZE - 1);
    return db_exec(db, &give_up_statement,
                   DB_ARGS(db_text(text), db_i64(clock_now_ms()), db_text(version_id)), NULL, err);
}

static int seal(const struct keyring *ring, const json_t *whole, const char *version_id,
                struct buffer *sealed, struct error **err)
{
    autowipe char *text = json_dumps(whole, JSON_COMPACT);
    return aead_seal(ring, text, strlen(text), version_id, sealed, err);
}

/* Return whether the recipe has a login or secrets. */
static bool has_login(const json_t *recipe)
{
    size_t at;
    json_t *step;
    if (json_object_get(recipe, RECIPE_SECRETS))
        return true;
    json_array_foreach (json_object_get(recipe, "steps"), at, step) {
        if (json_object_get(step, "password"))
            return true;
    }
    return false;
}

/* Return the bytes of a recipe without the digests of layers and ONBUILD of bases, which the
 * service has added. */
static size_t size_of(const json_t *recipe)
{
    json_auto_t *rest = json_deep_copy(recipe);
    size_t at;
    json_t *step;
    recipe_triggers_drop(rest);
    json_array_foreach (json_object_get(rest, "steps"), at, step)
        json_object_del(step, RECIPE_LAYERS);
    return json_dumpb(rest, NULL, 0, JSON_COMPACT);
}

bool recipe_may_be_kept(const json_t *whole)
{
    return whole && !json_is_true(json_object_get(whole, RECIPE_HAS_LOGIN)) &&
           size_of(json_object_get(whole, "recipe")) <= RECIPE_KEPT_MAX;
}

int recipe_begin(struct db *db, const struct keyring *ring, const struct recipe_order *order,
                 struct error **err)
{
    json_auto_t *whole =
        json_pack("{s:O, s:s, s:s, s:b}", "recipe", order->recipe, "network", order->network,
                  "base", order->base->id, RECIPE_HAS_LOGIN, (int)has_login(order->recipe));
    json_auto_t *titles = recipe_progress_titles(order->recipe);
    autofree char *titles_text = json_dumps(titles, JSON_COMPACT);
    buffer_auto sealed = BUFFER_INIT(RECIPE_SEALED_MAX);
    uint64_t matched;
    if (seal(ring, whole, order->version_id, &sealed, err) < 0 ||
        db_exec(db, &begin_statement,
                DB_ARGS(db_blob(sealed.data, sealed.size), db_text(titles_text),
                        db_i64(clock_now_ms()), db_text(order->version_id)),
                &matched, err) < 0)
        return -1;
    if (!matched)
        return error_set(err, ERR_NOT_FOUND,
                         "There is no such build, or it has its steps already.");
    return template_version_set_base(db, order->version_id, order->base, order->image, err);
}

int recipe_open_sealed(const struct keyring *ring, const char *version_id, const void *sealed,
                       size_t size, json_t **whole, struct error **err)
{
    struct buffer text = BUFFER_INIT(RECIPE_SEALED_MAX);
    int result = aead_open(ring, sealed, size, version_id, &text, err);
    if (result == 0)
        *whole = json_loadb(text.data ? text.data : "", text.size, 0, NULL);
    buffer_wipe(&text);
    return result;
}

int recipe_kept_read(struct db *db, const struct keyring *ring, const char *version_id,
                     json_t **recipe, struct error **err)
{
    db_rows_auto *rows = NULL;
    json_auto_t *whole = NULL;
    size_t size = 0;
    *recipe = NULL;
    if (db_query(db, &kept_statement, DB_ARGS(db_text(version_id)), &rows, err) < 0)
        return -1;
    const void *sealed = db_rows_next(rows) ? db_get_blob(rows, 0, &size) : NULL;
    if (size && recipe_open_sealed(ring, version_id, sealed, size, &whole, err) < 0)
        return -1;
    *recipe = json_incref(json_object_get(whole, "recipe"));
    recipe_triggers_drop(*recipe);
    return 0;
}

int recipe_status_get(struct db *db, const char *version_id, struct recipe_status *status,
                      bool *found, struct error **err)
{
    db_rows_auto *rows = NULL;
    *status = (struct recipe_status){.state = RECIPE_DONE};
    if (db_query(db, &status_statement, DB_ARGS(db_text(version_id)), &rows, err) < 0)
        return -1;
    *found = db_rows_next(rows);
    if (!*found)
        return 0;
    status->state = (enum recipe_state)db_get_name(rows, 0, state_names, ARRAY_SIZE(state_names));
    db_copy_text(status->failed_step, rows, 1);
    db_copy_text(status->failure, rows, 2);
    status->code =
        (enum recipe_failure_code)db_get_name(rows, 3, code_names, ARRAY_SIZE(code_names));
    db_copy_text(status->no_user, rows, 4);
    return 0;
}

int recipe_steps_read(struct db *db, const struct template_version *version, json_t **steps,
                      struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &steps_statement, DB_ARGS(db_text(version->id)), &rows, err) < 0)
        return -1;
    bool found = db_rows_next(rows);
    json_auto_t *titles = found ? json_loads(db_get_text(rows, 0), 0, NULL) : NULL;
    json_auto_t *times = found ? json_loads(db_get_text(rows, 1), 0, NULL) : NULL;
    *steps = recipe_progress_to_json(titles, times, found ? db_get_text(rows, 2) : "",
                                     version->state != TEMPLATE_BUILDING);
    return 0;
}

/* --- for the dispatcher --- */

struct taking {
    const char *lease_owner;
    uint64_t lease_s;
    struct recipe_row *row;
    struct buffer *sealed;
};

static void read_row(const struct db_rows *rows, struct recipe_row *row, struct buffer *sealed)
{
    size_t size = 0;
    db_copy_text(row->team_id, rows, 0);
    db_copy_text(row->user_id, rows, 1);
    row->state = (enum recipe_state)db_get_name(rows, 2, state_names, ARRAY_SIZE(state_names));
    db_copy_text(row->sandbox_id, rows, 3);
    row->step = (unsigned)db_get_u64(rows, 4);
    row->begun = db_get_bool(rows, 5);
    row->output_at = db_get_u64(rows, 6);
    const void *data = db_get_blob(rows, 7, &size);
    buffer_clear(sealed);
    buffer_append(sealed, data, size);
    db_copy_text(row->failure, rows, 8);
    row->cached_at_ms = db_get_i64(rows, 9);
    row->times = json_loads(db_get_text(rows, 10), 0, NULL);
    if (!row->times)
        row->times = json_array();
}

static int take_body(struct db *db, void *context, struct error **err)
{
    struct taking *taking = context;
    struct recipe_row *row = taking->row;
    char id[LEASE_KEY_SIZE];
    db_rows_auto *rows = NULL;
    json_decref(row->times);
    *row = (struct recipe_row){.version_id = ""};
    if (lease_take(db, &recipes, taking->lease_owner, taking->lease_s * 1000, id, &row->attempts,
                   err) < 0)
        return -1;
    if (!*id)
        return 0;
    snprintf(row->version_id, sizeof row->version_id, "%.30s", id);
    if (db_query(db, &get_statement, DB_ARGS(db_text(id)), &rows, err) < 0)
        return -1;
    if (db_rows_next(rows))
        read_row(rows, row, taking->sealed);
    return 0;
}

int recipe_row_take(struct db *db, const char *lease_owner, uint64_t lease_s,
                    struct recipe_row *row, struct buffer *sealed, struct error **err)
{
    struct taking taking = {lease_owner, lease_s, row, sealed};
    return db_transaction(db, take_body, &taking, err);
}

void recipe_row_keep(struct db *db, const struct recipe_row *row, const char *lease_owner,
                     uint64_t lease_s, struct lease *lease)
{
    lease_keep(lease, db, &recipes, row->version_id, lease_owner, lease_s * 1000);
}

int recipe_row_defer(struct db *db, const struct recipe_row *row, const char *lease_owner,
                     uint64_t delay_ms, struct error **err)
{
    return lease_defer(db, &recipes, row->version_id, lease_owner, delay_ms, err);
}

/* Change a row that this process holds. Errors: ERR_LEASE_LOST when another one has taken it
 * over. */
static int change_ours(struct db *db, const struct db_statement *statement,
                       const struct db_value *values, size_t count, const char *version_id,
                       struct error **err)
{
    uint64_t matched;
    if (db_exec(db, statement, values, count, &matched, err) < 0)
        return -1;
    return matched ? 0
                   : error_set(err, ERR_LEASE_LOST, "another process has taken the steps of %s",
                               version_id);
}

int recipe_row_set_sandbox(struct db *db, const struct recipe_row *row, const char *lease_owner,
                           const char *sandbox_id, unsigned steps, struct error **err)
{
    return change_ours(db, &sandbox_statement,
                       DB_ARGS(db_text(sandbox_id), db_u64(steps), db_i64(clock_now_ms()),
                               db_text(row->version_id), db_text(lease_owner)),
                       row->version_id, err);
}

int recipe_row_no_sandbox(struct db *db, const struct recipe_row *row, const char *lease_owner,
                          struct error **err)
{
    return change_ours(db, &no_sandbox_statement,
                       DB_ARGS(db_text(row->version_id), db_text(lease_owner)), row->version_id,
                       err);
}

int recipe_row_cached(struct db *db, const struct recipe_row *row, const char *lease_owner,
                      struct error **err)
{
    return change_ours(
        db, &cached_statement,
        DB_ARGS(db_i64(row->cached_at_ms), db_text(row->version_id), db_text(lease_owner)),
        row->version_id, err);
}

int recipe_row_progress(struct db *db, const struct recipe_row *row, const char *lease_owner,
                        struct error **err)
{
    autofree char *times = json_dumps(row->times, JSON_COMPACT);
    return change_ours(db, &progress_statement,
                       DB_ARGS(db_u64(row->step), db_bool(row->begun), db_u64(row->output_at),
                               db_text(times), db_text(row->version_id), db_text(lease_owner)),
                       row->version_id, err);
}

int recipe_row_seal(struct db *db, const struct keyring *ring, const struct recipe_row *row,
                    const char *lease_owner, const json_t *whole, struct error **err)
{
    buffer_auto sealed = BUFFER_INIT(RECIPE_SEALED_MAX);
    json_auto_t *titles = recipe_progress_titles(json_object_get(whole, "recipe"));
    autofree char *titles_text = json_dumps(titles, JSON_COMPACT);
    return seal(ring, whole, row->version_id, &sealed, err) < 0
               ? -1
               : change_ours(db, &seal_statement,
                             DB_ARGS(db_blob(sealed.data, sealed.size), db_text(titles_text),
                                     db_text(row->version_id), db_text(lease_owner)),
                             row->version_id, err);
}

struct ending {
    const struct recipe_row *row;
    const char *lease_owner;
    uint32_t host_id;
    const char *instance_name, *key;
    const struct recipe_failure *failure;
    const struct recipe_same *same;
    const struct template_version *version;
    enum template_start start;
};

static int set_copying(struct db *db, const struct ending *ending, struct error **err)
{
    const char *id = ending->row->version_id, *key = ending->key;
    return change_ours(
        db, &copying_statement,
        DB_ARGS(key && *key ? db_text(key) : db_null(), db_text(id), db_text(ending->lease_owner)),
        id, err);
}

static int same_body(struct db *db, void *context, struct error **err)
{
    const struct ending *ending = context;
    return set_copying(db, ending, err) < 0
               ? -1
               : template_version_same(db, ending->version, ending->same->id, ending->same->host_id,
                                       err);
}

int recipe_row_same(struct db *db, const struct recipe_row *row, const char *lease_owner,
                    const struct template_version *version, const struct recipe_same *same,
                    struct error **err)
{
    struct ending ending = {
        .row = row,
        .lease_owner = lease_owner,
        .version = version,
        .key = same->key,
        .same = same,
    };
    return db_transaction(db, same_body, &ending, err);
}

static int hand_over_body(struct db *db, void *context, struct error **err)
{
    const struct ending *ending = context;
    const char *id = ending->row->version_id;
    if (set_copying(db, ending, err) < 0)
        return -1;
    return template_version_copy_from(db, id, ending->host_id, ending->instance_name, ending->start,
                                      err);
}

int recipe_row_hand_over(struct db *db, const struct recipe_row *row, const char *lease_owner,
                         uint32_t host_id, const char *instance_name, enum template_start start,
                         const char *key, struct error **err)
{
    struct ending ending = {
        .row = row,
        .lease_owner = lease_owner,
        .host_id = host_id,
        .instance_name = instance_name,
        .start = start,
        .key = key,
    };
    return db_transaction(db, hand_over_body, &ending, err);
}

int recipe_row_starting(struct db *db, const struct recipe_row *row, const char *lease_owner,
                        struct error **err)
{
    return change_ours(db, &starting_statement,
                       DB_ARGS(db_u64(row->step), db_text(row->version_id), db_text(lease_owner)),
                       row->version_id, err);
}

static int started_body(struct db *db, void *context, struct error **err)
{
    const struct ending *ending = context;
    if (set_copying(db, ending, err) < 0)
        return -1;
    return template_version_started(db, ending->version, ending->start, err);
}

int recipe_row_started(struct db *db, const struct recipe_row *row, const char *lease_owner,
                       const struct template_version *version, enum template_start start,
                       struct error **err)
{
    struct ending ending = {
        .row = row,
        .lease_owner = lease_owner,
        .version = version,
        .start = start,
    };
    return db_transaction(db, started_body, &ending, err);
}

int recipe_row_done(struct db *db, const struct recipe_row *row, const char *lease_owner,
                    bool keeps, struct error **err)
{
    return db_exec(db, &done_statement,
                   DB_ARGS(db_bool(keeps), db_text(row->version_id), db_text(lease_owner)), NULL,
                   err);
}

static int fail_body(struct db *db, void *context, struct error **err)
{
    const struct ending *ending = context;
    const struct recipe_failure *failure = ending->failure;
    const char *id = ending->row->version_id;
    enum recipe_failure_code code = failure->no_user ? RECIPE_NO_USER : RECIPE_OTHER_FAILURE;
    autofree char *message = str_mend(failure->message, RECIPE_FAILURE_SIZE - 1);
    struct template_version version;
    if (change_ours(db, &fail_statement,
                    DB_ARGS(db_text(failure->step), db_text(message), db_text(code_names[code]),
                            db_text(failure->no_user ? failure->no_user : ""), db_text(id),
                            db_text(ending->lease_owner)),
                    id, err) < 0 ||
        template_version_get(db, id, &version, err) < 0)
        return -1;
    return template_version_fail(db, &version, err);
}

int recipe_row_fail(struct db *db, const struct recipe_row *row, const char *lease_owner,
                    const struct recipe_failure *failure, struct error **err)
{
    struct ending ending = {
        .row = row,
        .lease_owner = lease_owner,
        .failure = failure,
    };
    return db_transaction(db, fail_body, &ending, err);
}
