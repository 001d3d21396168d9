/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "base/clock.h"
#include "checkpoint/checkpoint_row.h"
#include "recipe/recipe_cache.h"
#include "recipe/recipe_image.h"

#define PURGED_AT_ONCE  500   /* steps of a team */
#define ACTIVE_AT_ONCE  1000  /* teams with builds */
#define ACTIVE_AGAIN_MS 90000 /* clocks of dispatchers differ, and a commit may be late */
#define TEAMS_AT_ONCE   100   /* other teams */

DB_STATEMENT(find_statement) = {
    "recipe_cache.find",
    "SELECT checkpoint_id FROM recipe_cache WHERE team_id = ? AND step_key = ?"};
DB_STATEMENT(known_statement) = {"recipe_cache.known",
                                 "SELECT step_key FROM recipe_cache WHERE team_id = ?"};
DB_STATEMENT(used_statement) = {
    "recipe_cache.used",
    "UPDATE recipe_cache SET used_at_ms = ? WHERE team_id = ? AND step_key = ?"};
DB_STATEMENT(add_statement) = {
    "recipe_cache.add",
    "INSERT INTO recipe_cache (team_id, step_key, checkpoint_id, used_at_ms) VALUES (?, ?, ?, ?)"
    " ON DUPLICATE KEY UPDATE checkpoint_id = ?, used_at_ms = ?"};
DB_STATEMENT(delete_statement) = {"recipe_cache.delete",
                                  "DELETE FROM recipe_cache WHERE checkpoint_id = ?"};
/* Memory that could not be kept may be kept this time. */
DB_STATEMENT(same_statement) = {
    "recipe_cache.same",
    "SELECT v.id FROM template_recipes r JOIN template_versions v ON v.id = r.template_version_id"
    " WHERE r.team_id = ? AND r.result_key = ? AND v.state = 'ready'"
    " AND (v.start <> 'command' OR v.virtual_machine = 1) ORDER BY v.id DESC LIMIT 1"};
DB_STATEMENT(active_statement) = {
    "recipe_cache.active",
    "SELECT DISTINCT team_id FROM recipe_cache WHERE used_at_ms >= ? LIMIT ?"};
DB_STATEMENT(next_statement) = {
    "recipe_cache.next",
    "SELECT DISTINCT team_id FROM recipe_cache WHERE team_id > ? ORDER BY team_id LIMIT ?"};
/* Beyond the bounds; of a removed team; with a base that is gone; without its checkpoint. */
DB_STATEMENT(purge_statement) = {
    "recipe_cache.purge",
    "SELECT r.checkpoint_id FROM (SELECT e.checkpoint_id, e.used_at_ms, c.state, t.removed_at_ms,"
    "   v.state AS base_state,"
    "   ROW_NUMBER() OVER (ORDER BY e.used_at_ms DESC, e.step_key) AS n,"
    "   SUM(COALESCE(c.size_mb, 0)) OVER (ORDER BY e.used_at_ms DESC, e.step_key) AS sum_mb"
    "   FROM recipe_cache e JOIN teams t ON t.id = e.team_id"
    "   LEFT JOIN checkpoints c ON c.id = e.checkpoint_id"
    "   LEFT JOIN template_versions v ON v.id = c.template_version_id WHERE e.team_id = ?) r"
    " WHERE r.n > ? OR r.sum_mb > ? OR r.removed_at_ms IS NOT NULL OR r.base_state <> 'ready'"
    "   OR r.state IS NULL OR r.state NOT IN ('creating', 'kept')"
    " ORDER BY r.used_at_ms LIMIT ?"};

static int find_one(struct db *db, const char *team_id, const char *key,
                    struct checkpoint *checkpoint, struct error **err)
{
    db_rows_auto *rows = NULL;
    checkpoint->id[0] = '\0';
    if (db_query(db, &find_statement, DB_ARGS(db_text(team_id), db_text(key)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    return checkpoint_kept(db, db_get_text(rows, 0), checkpoint, err);
}

int recipe_same_find(struct db *db, const char *team_id, const char *key, char id[ID_SIZE],
                     struct error **err)
{
    db_rows_auto *rows = NULL;
    *id = '\0';
    if (!*key)
        return 0;
    if (db_query(db, &same_statement, DB_ARGS(db_text(team_id), db_text(key)), &rows, err) < 0)
        return -1;
    if (db_rows_next(rows))
        snprintf(id, ID_SIZE, "%s", db_get_text(rows, 0));
    return 0;
}

/* A use of the checkpoint, too. */
static int use_one(struct db *db, const char *team_id, const char *key,
                   struct checkpoint *checkpoint, struct error **err)
{
    if (find_one(db, team_id, key, checkpoint, err) < 0)
        return -1;
    return *checkpoint->id
               ? db_exec(db, &used_statement,
                         DB_ARGS(db_i64(clock_now_ms()), db_text(team_id), db_text(key)), NULL, err)
               : 0;
}

int recipe_cache_has(struct db *db, const char *team_id, const char *key, bool *has,
                     struct error **err)
{
    struct checkpoint checkpoint;
    if (use_one(db, team_id, key, &checkpoint, err) < 0)
        return -1;
    *has = *checkpoint.id;
    return 0;
}

/* The keys that the team has, as the members of an object: an image has up to 200 layers. */
static int read_known(struct db *db, const char *team_id, json_t **known, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &known_statement, DB_ARGS(db_text(team_id)), &rows, err) < 0)
        return -1;
    *known = json_object();
    while (db_rows_next(rows))
        json_object_set_new(*known, db_get_text(rows, 0), json_true());
    return 0;
}

/* Find the layers of the image that the step behind these steps fetches. */
static int find_layers(struct db *db, const char *team_id, const struct recipe_keys *keys,
                       const json_t *recipe, const json_t *known, struct recipe_cached *cached,
                       struct error **err)
{
    const json_t *step = json_array_get(json_object_get(recipe, "steps"), cached->steps);
    const json_t *layers = json_object_get(step, RECIPE_LAYERS);
    for (cached->layers = (unsigned)json_array_size(layers); cached->layers; cached->layers--) {
        char key[RECIPE_KEY_SIZE];
        recipe_layers_key(keys, recipe, cached->steps,
                          json_string_value(json_array_get(layers, cached->layers - 1)), key);
        if (!json_object_get(known, key))
            continue;
        if (use_one(db, team_id, key, &cached->checkpoint, err) < 0)
            return -1;
        if (*cached->checkpoint.id)
            return 0;
    }
    return 0;
}

int recipe_cache_find(struct db *db, const char *team_id, const struct recipe_keys *keys,
                      const json_t *recipe, struct recipe_cached *cached, struct error **err)
{
    json_auto_t *known = NULL;
    *cached = (struct recipe_cached){.steps = keys->known};
    if (read_known(db, team_id, &known, err) < 0)
        return -1;
    for (;; cached->steps--) {
        if (find_layers(db, team_id, keys, recipe, known, cached, err) < 0)
            return -1;
        if (*cached->checkpoint.id || !cached->steps)
            return 0;
        if (use_one(db, team_id, keys->at[cached->steps], &cached->checkpoint, err) < 0)
            return -1;
        if (*cached->checkpoint.id)
            return 0;
    }
}

int recipe_cache_add(struct db *db, const char *team_id, const char *key, const char *checkpoint_id,
                     struct error **err)
{
    db_rows_auto *rows = NULL;
    struct db_value id = db_text(checkpoint_id), now = db_i64(clock_now_ms());
    if (db_query(db, &find_statement, DB_ARGS(db_text(team_id), db_text(key)), &rows, err) < 0 ||
        (db_rows_next(rows) && checkpoint_row_deleting(db, db_get_text(rows, 0), 0, err) < 0))
        return -1;
    return db_exec(db, &add_statement, DB_ARGS(db_text(team_id), db_text(key), id, now, id, now),
                   NULL, err);
}

static int drop_body(struct db *db, void *context, struct error **err)
{
    const char *checkpoint_id = context;
    if (db_exec(db, &delete_statement, DB_ARGS(db_text(checkpoint_id)), NULL, err) < 0)
        return -1;
    return checkpoint_row_deleting(db, checkpoint_id, 0, err);
}

static int purge_team(struct db *db, const char *team_id, const struct recipe_cache_bounds *bounds,
                      struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &purge_statement,
                 DB_ARGS(db_text(team_id), db_u64(bounds->steps), db_u64(bounds->gb * 1024),
                         db_u64(PURGED_AT_ONCE)),
                 &rows, err) < 0)
        return -1;
    while (db_rows_next(rows)) {
        char id[ID_SIZE];
        db_copy_text(id, rows, 0);
        if (db_transaction(db, drop_body, id, err) < 0)
            return -1;
    }
    return 0;
}

/* *last: returns the last team. */
static int purge_teams(struct db *db, struct db_rows *teams,
                       const struct recipe_cache_bounds *bounds, char last[ID_SIZE],
                       struct error **err)
{
    *last = '\0';
    while (db_rows_next(teams)) {
        snprintf(last, ID_SIZE, "%s", db_get_text(teams, 0));
        if (purge_team(db, last, bounds, err) < 0)
            return -1;
    }
    return 0;
}

int recipe_cache_trim(struct db *db, const struct recipe_cache_bounds *bounds, int64_t since_ms,
                      char after[ID_SIZE], struct error **err)
{
    char last[ID_SIZE];
    db_rows_auto *active = NULL, *next = NULL;
    if (db_query(db, &active_statement, DB_ARGS(db_i64(since_ms), db_u64(ACTIVE_AT_ONCE)), &active,
                 err) < 0 ||
        purge_teams(db, active, bounds, last, err) < 0)
        return -1;
    if (db_query(db, &next_statement, DB_ARGS(db_text(after), db_u64(TEAMS_AT_ONCE)), &next, err) <
        0)
        return -1;
    return purge_teams(db, next, bounds, after, err);
}

int recipe_cache_purge(struct worker *worker, struct error **err)
{
    static int64_t since_ms;
    static char after[ID_SIZE];
    const struct settings *settings = worker->settings;
    const struct recipe_cache_bounds bounds = {settings->build_cache_steps,
                                               settings->build_cache_gb};
    int64_t now_ms = clock_now_ms();
    if (recipe_cache_trim(worker->db, &bounds, since_ms, after, err) < 0)
        return -1;
    since_ms = now_ms - ACTIVE_AGAIN_MS;
    return 0;
}
