/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which steps of a recipe an earlier build has run already. */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "recipe/recipe_fetch.h"
#include "recipe/recipe_image.h"
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
    return recipe_cache_find(turn->worker->db, turn->row.team_id, keys, recipe, &turn->cached, err);
}

int recipe_turn_find_key(struct recipe_turn *turn, struct error **err)
{
    autofree struct recipe_keys *keys = xmalloc(sizeof *keys);
    return find_keys(turn, keys, err);
}

void recipe_turn_forget_cached(struct recipe_turn *turn)
{
    turn->cached = (struct recipe_cached){.steps = 0};
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
    say_cached(turn, turn->cached.steps);
    turn->row.step = turn->cached.steps;
    if (turn->cached.layers) {
        autofree char *number = turn->cached.layers == 1
                                    ? xstrdup("layer")
                                    : xasprintf("%u layers", turn->cached.layers);
        autofree char *line = xasprintf("the first %s of the image: cached", number);
        recipe_turn_say(turn, line);
    }
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

/* Return whether the cache has more than the sandbox, which has no layers of the next image. */
static bool is_more(const struct recipe_turn *turn)
{
    const struct recipe_cached *cached = &turn->cached;
    return *turn->same_id || cached->steps > turn->row.step ||
           (cached->steps == turn->row.step && cached->layers);
}

/* The row forgets the sandbox first: after a crash in between, the next turn makes another one. The
 * forgotten one then ends at its deadline. */
static int leave_sandbox(struct recipe_turn *turn, struct error **err)
{
    error_auto failure = NULL;
    if (recipe_row_no_sandbox(turn->worker->db, &turn->row, recipe_turn_owner(turn), err) < 0)
        return -1;
    if (sandbox_destroy(turn->worker, turn->row.sandbox_id, &failure) < 0)
        log_info("cannot delete the sandbox of a template build; it ends at its deadline",
                 LOG_STR("sandbox", turn->row.sandbox_id), LOG_ERROR(failure));
    *turn->row.sandbox_id = '\0';
    return 0;
}

/* Return whether another sandbox could not fetch the image again: its login was deleted when this
 * sandbox had it. */
static bool login_is_gone(const struct recipe_turn *turn)
{
    return turn->row.step && json_is_true(json_object_get(turn->whole, RECIPE_HAS_LOGIN));
}

int recipe_turn_begin_again(struct recipe_turn *turn, bool is_wrong, struct error **err)
{
    if (recipe_row_seal(turn->worker->db, turn->worker->ring, &turn->row, recipe_turn_owner(turn),
                        turn->whole, err) < 0 ||
        recipe_turn_find_cached(turn, err) < 0)
        return -1;
    bool leaves = (is_wrong || is_more(turn)) && !login_is_gone(turn);
    recipe_turn_forget_cached(turn);
    return leaves ? leave_sandbox(turn, err) : 0;
}

int recipe_turn_take_digests(struct recipe_turn *turn, struct recipe_place *place, bool *found,
                             struct error **err)
{
    *found = false;
    if (recipe_fetch_digests(place, err) < 0 || recipe_turn_begin_again(turn, false, err) < 0)
        return -1;
    *found = !*turn->row.sandbox_id;
    return 0;
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

/* Keep a checkpoint of the sandbox under the key. Without a key, keep nothing. */
static int keep(struct recipe_turn *turn, const char *key, struct error **err)
{
    struct recipe_row *row = &turn->row;
    struct caching caching = {turn, key};
    const struct checkpoint_create wanted = {
        .user_id = row->user_id, .name = "", .claim = add_to_cache, .claim_context = &caching};
    struct checkpoint checkpoint;
    error_auto failure = NULL;
    if (!*key)
        return 0;
    if (sandbox_checkpoint(turn->worker, turn->sandbox.id, &wanted, &checkpoint, &failure) < 0)
        log_info("cannot cache a step of a template build; the next build runs it again",
                 LOG_STR("version", row->version_id), LOG_ERROR(failure));
    row->cached_at_ms = clock_now_ms();
    return recipe_row_cached(turn->worker->db, row, recipe_turn_owner(turn), err);
}

static bool took_long(const struct recipe_turn *turn)
{
    return clock_now_ms() - turn->row.cached_at_ms >= CACHED_AFTER_MS;
}

/* An image whose layers were cached is finished in a moment. It is cached all the same: then the
 * next build need not ask the registry. */
static bool has_layers(const struct recipe_place *place, unsigned step)
{
    return json_array_size(json_object_get(recipe_step_at(place, step), RECIPE_LAYERS));
}

int recipe_turn_cache(struct recipe_turn *turn, const struct recipe_place *place,
                      struct error **err)
{
    unsigned over = turn->row.step;
    autofree struct recipe_keys *keys = xmalloc(sizeof *keys);
    if (!recipe_turn_may_cache(turn) || !over || !is_work(place, over - 1) ||
        !(took_long(turn) || has_layers(place, over - 1)))
        return 0;
    if (read_keys(turn, keys, err) < 0)
        return -1;
    return over > keys->known ? 0 : keep(turn, keys->at[over], err);
}

/* Return how many layers of the image a digest stands for; 0: it is no digest of the image. */
static unsigned layers_of(const struct recipe_place *place, unsigned step, const char *digest)
{
    const json_t *layers = json_object_get(recipe_step_at(place, step), RECIPE_LAYERS);
    for (unsigned i = 0; i < json_array_size(layers); i++)
        if (str_equal(json_string_value(json_array_get(layers, i)), digest))
            return i + 1;
    return 0;
}

/* Equal layers are cached once: they are the same for each image. The owner of the base can replace
 * the program, so its digest must be one of the image. */
int recipe_turn_cache_layers(struct recipe_turn *turn, struct recipe_place *place,
                             struct error **err)
{
    autofree struct recipe_keys *keys = xmalloc(sizeof *keys);
    char digest[RECIPE_DIGEST_SIZE], key[RECIPE_KEY_SIZE];
    bool has;
    if (!recipe_turn_may_cache(turn) || !took_long(turn))
        return 0;
    if (recipe_image_unpacked(place, turn->row.step, digest, err) < 0)
        return -1;
    if (!layers_of(place, turn->row.step, digest))
        return 0;
    if (read_keys(turn, keys, err) < 0)
        return -1;
    recipe_layers_key(keys, place->recipe, turn->row.step, digest, key);
    if (recipe_cache_has(turn->worker->db, turn->row.team_id, key, &has, err) < 0)
        return -1;
    return has ? 0 : keep(turn, key, err);
}
