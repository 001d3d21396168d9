/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sandbox in which the steps of a recipe run. */
#include <stdio.h>
#include <stdlib.h>

#include "account/account.h"
#include "base/mem.h"
#include "recipe/recipe_mount.h"
#include "recipe/recipe_setting.h"
#include "recipe/recipe_turn.h"
#include "sandbox/lifecycle.h"

#define TURN_MOST_MS  10000 /* of any recipe, also with a slow agent */
#define ATTEMPTS_MOST 20    /* to make the sandbox */

static int claim(struct db *db, const char *sandbox_id, void *context, struct error **err)
{
    struct recipe_turn *turn = context;
    return recipe_row_set_sandbox(
        db, &turn->row, recipe_turn_owner(turn), sandbox_id,
        turn->row.state == RECIPE_STARTING ? turn->row.step : turn->cached.steps, err);
}

/* with_caches: mount the volume of caches. */
static int make_sandbox(struct recipe_turn *turn, bool with_caches, struct error **err)
{
    struct worker *worker = turn->worker;
    struct team team;
    struct plan plan;
    bool starts = turn->row.state == RECIPE_STARTING;
    autofree char *metadata = xasprintf("{\"template_build\":\"%s\"}", turn->row.version_id);
    if (team_get_by_slug(worker->db, turn->version.team_slug, &team, err) < 0 ||
        plan_get(worker->db, team.plan, &plan, err) < 0)
        return -1;
    struct sandbox_create request = {
        .user_id = turn->row.user_id,
        .team = &team,
        .source = turn->version.base_id,
        .version = starts ? &turn->version : NULL,
        .copy = *turn->cached.checkpoint.id ? &turn->cached.checkpoint : NULL,
        .source_field = "/template",
        .timeout_s =
            plan.max_timeout_s < RECIPE_TIME_MAX_S ? plan.max_timeout_s : RECIPE_TIME_MAX_S,
        .choices = sandbox_choices_default,
        .metadata = metadata,
        .network = json_string_value(json_object_get(turn->whole, "network")),
        .claim = claim,
        .claim_context = turn,
    };
    request.allow_public_traffic = false;
    if (with_caches && recipe_mount_add(turn, &request, err) < 0)
        return -1;
    return sandbox_create(worker, &request, &turn->sandbox, err);
}

/* A cached step that cannot be used, for example because its host is full, is no reason to wait. */
static int make_or_copy(struct recipe_turn *turn, struct error **err)
{
    error_auto failure = NULL;
    if (!*turn->cached.checkpoint.id)
        return make_sandbox(turn, false, err);
    if (make_sandbox(turn, false, &failure) == 0)
        return 0;
    if (failure->code == ERR_LEASE_LOST)
        return error_move(err, &failure);
    recipe_turn_forget_cached(turn);
    return make_sandbox(turn, false, err);
}

/* Caches are no reason to wait either: they may be on another host than the cached step. */
static int make(struct recipe_turn *turn, struct error **err)
{
    error_auto failure = NULL;
    bool starts = turn->row.state == RECIPE_STARTING;
    recipe_turn_say(turn, starts ? "starting a sandbox from the template, to save its memory"
                          : *turn->cached.checkpoint.id ? "creating a sandbox from a cached step"
                                                        : "creating a sandbox from the base");
    if (!recipe_mount_is_wanted(turn, turn->cached.steps))
        return make_or_copy(turn, err);
    if (make_sandbox(turn, true, &failure) == 0)
        return 0;
    if (failure->code == ERR_LEASE_LOST)
        return error_move(err, &failure);
    if (make_or_copy(turn, err) < 0)
        return -1;
    autofree char *line =
        xasprintf("the folders of RUN --mount=type=cache begin empty: %s", failure->message);
    recipe_turn_say(turn, line);
    return 0;
}

/* Make the sandbox. The recipe does not fail for a temporary cause. */
static int begin(struct recipe_turn *turn, struct error **err)
{
    error_auto failure = NULL;
    bool is_ready = false;
    if (recipe_turn_find_cached(turn, &failure) == 0 &&
        recipe_turn_take_same(turn, &is_ready, &failure) == 0 &&
        (is_ready || make(turn, &failure) == 0)) {
        if (is_ready)
            return 0;
        snprintf(turn->row.sandbox_id, ID_SIZE, "%s", turn->sandbox.id);
        if (turn->row.state == RECIPE_RUNNING)
            recipe_turn_say_cached(turn);
        return 0;
    }
    bool later = error_is_transient(failure) || failure->code == ERR_NO_CAPACITY;
    if (failure->code == ERR_LEASE_LOST)
        return error_move(err, &failure);
    if (later && turn->row.attempts < ATTEMPTS_MOST)
        return recipe_turn_defer(turn, RECIPE_LATER_MS, err);
    return recipe_turn_fail(turn, NULL, -1, failure->message, err);
}

int recipe_turn_find_sandbox(struct recipe_turn *turn, bool *there, struct error **err)
{
    error_auto missing = NULL;
    bool untouched = !turn->row.begun && (!turn->row.step || turn->row.state == RECIPE_STARTING);
    *there = false;
    if (!*turn->row.sandbox_id)
        return begin(turn, err) < 0 ? -1 : (*there = *turn->row.sandbox_id, 0);
    if (sandbox_get(turn->worker->db, turn->row.sandbox_id, &turn->sandbox, &missing) < 0) {
        if (missing->code != ERR_NOT_FOUND)
            return error_move(err, &missing);
        return untouched ? begin(turn, err)
                         : recipe_turn_fail(turn, NULL, -1,
                                            "The sandbox of the build has ended: it was deleted, "
                                            "or reached its deadline.",
                                            err);
    }
    *there = turn->sandbox.state == SANDBOX_READY;
    if (*there)
        return 0;
    return turn->sandbox.state == SANDBOX_CREATING || turn->sandbox.state == SANDBOX_CHECKPOINTING
               ? recipe_turn_defer(turn, RECIPE_SOON_MS, err)
               : recipe_turn_fail(turn, NULL, -1, "The sandbox of the build was stopped.", err);
}

static int renew(void *context, struct error **err)
{
    return lease_tick(context, err);
}

int recipe_turn_open(struct recipe_turn *turn, struct recipe_place *place, struct error **err)
{
    const struct sandbox *sandbox = &turn->sandbox;
    struct worker *worker = turn->worker;
    *place = (struct recipe_place){
        .db = worker->db,
        .lease = &turn->lease,
        .until = deadline_in_ms(TURN_MOST_MS),
        .team_id = turn->row.team_id,
        .caches = recipe_turn_may_cache(turn),
        .cache_mount_gb = worker->settings->build_cache_mount_gb,
        .recipe = json_object_get(turn->whole, "recipe"),
        .start = turn->row.state == RECIPE_STARTING ? START_IN_AGENT
                 : turn->version.virtual_machine    ? START_IN_STEPS
                                                    : START_LATER,
    };
    if (runtimes_agent(worker->runtimes, worker->db, sandbox->host_id, sandbox->address, &place->at,
                       err) < 0 ||
        agent_secret(worker->ring, sandbox->instance_name, sandbox->agent_key_id, place->secret,
                     err) < 0)
        return -1;
    /* A call may take longer than the lease: then another process would do the same step. */
    place->at.tick = renew;
    place->at.tick_context = &turn->lease;
    if (recipe_place_read(place, err) < 0 || recipe_turn_add_triggers(turn, place, err) < 0)
        return -1;
    recipe_setting_configure(place, turn->row.step);
    return 0;
}

void recipe_turn_close(struct recipe_place *place)
{
    mem_wipe(place->secret, sizeof place->secret);
    json_decref(place->defaults);
    json_decref(place->shell);
    free(place->path);
    free(place->no_user);
}

int recipe_turn_end_sandbox(struct recipe_turn *turn, bool *ended, struct error **err)
{
    error_auto gone = NULL;
    *ended = !*turn->row.sandbox_id ||
             sandbox_destroy(turn->worker, turn->row.sandbox_id, &gone) == 0 ||
             gone->code == ERR_NOT_FOUND;
    if (*ended)
        return 0;
    return error_is_transient(gone) ? recipe_turn_defer(turn, RECIPE_LATER_MS, err)
                                    : error_move(err, &gone);
}
