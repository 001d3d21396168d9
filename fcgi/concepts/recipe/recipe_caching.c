/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which steps of a recipe an earlier build has run already. */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "recipe/recipe_progress.h"
#include "recipe/recipe_turn.h"
#include "sandbox/lifecycle.h"
#include "template/template_source.h"

/* A step is cached when it and the uncached ones before it took at least this long together. */
#define CACHED_AFTER_MS 1000

static int read_keys(const struct recipe_turn *turn, struct recipe_keys *keys, struct error **err)
{
    return recipe_keys_read(turn->worker->db, turn->row.team_id, turn->version.base_id,
                            json_object_get(turn->whole, "recipe"), keys, err);
}

/* Read the keys of the steps, and find the key of the result. */
static int find_keys(struct recipe_turn *turn, struct recipe_keys *keys, struct error **err)
{
    if (read_keys(turn, keys, err) < 0)
        return -1;
    recipe_result_key(keys, json_object_get(turn->whole, "recipe"), &turn->version,
                      turn->result_key);
    return 0;
}

bool recipe_turn_may_cache(const struct recipe_turn *turn)
{
    const struct settings *settings = turn->worker->settings;
    return settings->build_cache_gb && settings->build_cache_steps &&
           turn->row.state == RECIPE_RUNNING;
}

int recipe_turn_find_cached(struct recipe_turn *turn, struct error **err)
{
    const json_t *recipe = json_object_get(turn->whole, "recipe");
    autofree struct recipe_keys *keys = xmalloc(sizeof *keys);
    if (!recipe_turn_may_cache(turn) || json_is_true(json_object_get(recipe, "no_cache")))
        return 0;
    if (find_keys(turn, keys, err) < 0 ||
        recipe_same_find(turn->worker->db, turn->row.team_id, turn->result_key, turn->same_id,
                         err) < 0)
        return -1;
    return recipe_cache_find(turn->worker->db, turn->row.team_id, keys, &turn->cached_steps,
                             &turn->cached, err);
}

int recipe_turn_find_key(struct recipe_turn *turn, struct error **err)
{
    autofree struct recipe_keys *keys = xmalloc(sizeof *keys);
    return find_keys(turn, keys, err);
}

void recipe_turn_forget_cached(struct recipe_turn *turn)
{
    turn->cached_steps = 0;
    turn->cached = (struct checkpoint){.id = ""};
}

static void say_cached(const struct recipe_turn *turn, unsigned count)
{
    const struct recipe_place place = {.recipe = json_object_get(turn->whole, "recipe")};
    for (unsigned i = 0; i < count; i++) {
        autofree char *title = recipe_step_title(&place, i);
        autofree char *line = xasprintf("%s: cached", title);
        recipe_progress_begin(turn->row.times, i, true);
        recipe_turn_say(turn, line);
    }
}

void recipe_turn_say_cached(struct recipe_turn *turn)
{
    say_cached(turn, turn->cached_steps);
    turn->row.step = turn->cached_steps;
    turn->row.cached_at_ms = clock_now_ms();
}

/* --- the same version --- */

static int tick(void *context, struct error **err)
{
    struct recipe_turn *turn = context;
    return lease_tick(&turn->lease, err);
}

static int become_same(struct recipe_turn *turn, uint32_t host_id, struct error **err)
{
    const struct recipe_same same = {turn->result_key, turn->same_id, host_id};
    struct template_version other;
    if (template_version_get(turn->worker->db, turn->same_id, &other, err) < 0)
        return -1;
    say_cached(turn, (unsigned)json_array_size(
                         json_object_get(json_object_get(turn->whole, "recipe"), "steps")));
    if (recipe_turn_progress(turn, err) < 0)
        return -1;
    autofree char *line = xasprintf("nothing has changed since version %u of %s: its disk is used",
                                    other.version, other.slug);
    recipe_turn_say(turn, line);
    recipe_turn_say(turn, "ready");
    return recipe_row_same(turn->worker->db, &turn->row, recipe_turn_owner(turn), &turn->version,
                           &same, err);
}

/* The steps run again after any failure here. */
int recipe_turn_take_same(struct recipe_turn *turn, bool *taken, struct error **err)
{
    struct worker *worker = turn->worker;
    struct template_twin twin = {turn->same_id, turn->row.version_id, tick, turn, 0};
    error_auto failure = NULL;
    *taken = false;
    if (!*turn->same_id)
        return 0;
    *taken = template_source_copy(worker->db, worker->runtimes, &twin, &failure) == 0 &&
             become_same(turn, twin.host_id, &failure) == 0;
    if (*taken)
        return recipe_turn_defer(turn, 0, err);
    if (failure->code == ERR_LEASE_LOST)
        return error_move(err, &failure);
    log_info("cannot copy an equal version of a template; building it again",
             LOG_STR("version", turn->row.version_id), LOG_ERROR(failure));
    return template_sources_remove(worker->db, worker->runtimes, turn->row.version_id, err);
}

/* --- images --- */

int recipe_turn_ask_digests(struct recipe_turn *turn, struct recipe_place *place, bool *found,
                            struct error **err)
{
    struct recipe_row *row = &turn->row;
    bool ended, lacked = false;
    *found = false;
    for (unsigned i = 0; recipe_step_is_image(place, i); i++) {
        json_t *step = json_array_get(json_object_get(place->recipe, "steps"), i);
        char digest[RECIPE_DIGEST_SIZE];
        if (!recipe_lacks_digest(step))
            continue;
        lacked = true;
        if (recipe_image_digest(place, i, digest, err) < 0)
            return -1;
        if (!*digest)
            return 0;
        json_object_set_new(step, "reference", json_string(digest));
    }
    if (!lacked)
        return 0;
    if (recipe_row_seal(turn->worker->db, turn->worker->ring, row, recipe_turn_owner(turn),
                        turn->whole, err) < 0 ||
        recipe_turn_find_cached(turn, err) < 0)
        return -1;
    *found = *turn->cached.id || *turn->same_id;
    recipe_turn_forget_cached(turn);
    if (!*found || recipe_turn_end_sandbox(turn, &ended, err) < 0)
        return *found ? -1 : 0;
    return recipe_row_no_sandbox(turn->worker->db, row, recipe_turn_owner(turn), err);
}

/* --- keeping --- */

struct caching {
    struct recipe_turn *turn;
    const char *key;
};

static int add_to_cache(struct db *db, const char *checkpoint_id, void *context, struct error **err)
{
    const struct caching *caching = context;
    return recipe_cache_add(db, caching->turn->row.team_id, caching->key, checkpoint_id, err);
}

/* Whether a step changes files and takes time, unlike those that only set something. */
static bool is_work(const struct recipe_place *place, unsigned step)
{
    const char *type = json_string_value(json_object_get(recipe_step_at(place, step), "type"));
    return type && !str_equal(type, "env") && !str_equal(type, "user") &&
           !str_equal(type, "workdir");
}

int recipe_turn_cache(struct recipe_turn *turn, const struct recipe_place *place,
                      struct error **err)
{
    struct recipe_row *row = &turn->row;
    autofree struct recipe_keys *keys = xmalloc(sizeof *keys);
    struct caching caching = {turn, NULL};
    const struct checkpoint_create wanted = {
        .user_id = row->user_id, .name = "", .claim = add_to_cache, .claim_context = &caching};
    struct checkpoint checkpoint;
    error_auto failure = NULL;
    if (!recipe_turn_may_cache(turn) || !row->step || !is_work(place, row->step - 1) ||
        clock_now_ms() - row->cached_at_ms < CACHED_AFTER_MS)
        return 0;
    if (read_keys(turn, keys, err) < 0)
        return -1;
    if (row->step > keys->known)
        return 0;
    caching.key = keys->at[row->step];
    if (sandbox_checkpoint(turn->worker, turn->sandbox.id, &wanted, &checkpoint, &failure) < 0)
        log_info("cannot cache a step of a template build; the next build runs it again",
                 LOG_STR("version", row->version_id), LOG_ERROR(failure));
    row->cached_at_ms = clock_now_ms();
    return recipe_row_cached(turn->worker->db, row, recipe_turn_owner(turn), err);
}
