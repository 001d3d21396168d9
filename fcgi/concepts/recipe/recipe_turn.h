/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A turn of a recipe that this process holds. For this folder only. Errors of all functions: those
 * of the database, and ERR_LEASE_LOST. */
#pragma once

#include "recipe/recipe_cache.h"
#include "recipe/recipe_row.h"
#include "recipe/recipe_step.h"
#include "sandbox/sandbox.h"

#define RECIPE_SOON_MS  100
#define RECIPE_LATER_MS 2000

struct recipe_turn {
    struct worker *worker;
    struct recipe_row row;
    struct lease lease;
    struct template_version version;
    json_t *whole; /* the contents that recipe_begin() has sealed */
    struct sandbox sandbox;
    struct recipe_cached cached;      /* with which its sandbox begins */
    char result_key[RECIPE_KEY_SIZE]; /* "": not known */
    char same_id[ID_SIZE];            /* a ready version with this key; "": none */
};

const char *recipe_turn_owner(const struct recipe_turn *turn);

/* Add a line to the build log. The build continues when this fails. */
void recipe_turn_say(const struct recipe_turn *turn, const char *line);

/* Release the recipe: its next turn is due after this time. */
int recipe_turn_defer(struct recipe_turn *turn, unsigned ms, struct error **err);

/* Write the progress of the row. */
int recipe_turn_progress(struct recipe_turn *turn, struct error **err);

/* Make the version ready after its copy. recipe_turn_no_memory(): because the memory cannot be
 * kept, sandboxes run the start command. */
int recipe_turn_ready(struct recipe_turn *turn, enum template_start start, struct error **err);
int recipe_turn_no_memory(struct recipe_turn *turn, const char *reason, struct error **err);

/* Fail the version. place NULL, or step -1: before the first step. recipe_turn_fail(): as
 * recipe_turn_no_memory() if only the memory is missing. */
int recipe_turn_fail_step(struct recipe_turn *turn, const struct recipe_place *place, int step,
                          const char *failure, struct error **err);
int recipe_turn_fail(struct recipe_turn *turn, const struct recipe_place *place, int step,
                     const char *failure, struct error **err);

/* --- recipe_sandbox.c --- */

/* Find or make the sandbox of the recipe. *there false: its absence was dealt with. */
int recipe_turn_find_sandbox(struct recipe_turn *turn, bool *there, struct error **err);

/* Open the sandbox for steps. row.sandbox_id "": the next turn begins with another one. The caller
 * calls recipe_turn_close(), also after an error. Errors: those of agent_exec(). */
int recipe_turn_open(struct recipe_turn *turn, struct recipe_place *place, struct error **err);
void recipe_turn_close(struct recipe_place *place);

/* Delete the sandbox. *ended false: it is tried again later. */
int recipe_turn_end_sandbox(struct recipe_turn *turn, bool *ended, struct error **err);

/* --- recipe_trigger.c --- */

/* Add the steps of the base's ONBUILD to the recipe of a Dockerfile, if they are the next ones. The
 * turn may then leave the sandbox, as in recipe_turn_begin_again(). Errors: ERR_INVALID_REQUEST. */
int recipe_turn_add_triggers(struct recipe_turn *turn, const struct recipe_place *place,
                             struct error **err);

/* --- recipe_caching.c --- */

/* Return whether steps of this build are cached: it runs steps now, and the settings give the cache
 * room. */
bool recipe_turn_may_cache(const struct recipe_turn *turn);

/* Find the version whose files this one may have, or the cached steps with which the sandbox may
 * begin. */
int recipe_turn_find_cached(struct recipe_turn *turn, struct error **err);

/* Make the version ready with the files of the equal version. *taken false: no equal version was
 * found, or its files cannot be copied. */
int recipe_turn_take_same(struct recipe_turn *turn, bool *taken, struct error **err);

/* Find the key of the result, for recipe_row_hand_over(). */
int recipe_turn_find_key(struct recipe_turn *turn, struct error **err);

/* Begin the sandbox without cached steps. */
void recipe_turn_forget_cached(struct recipe_turn *turn);

/* Add the cached steps to the log, and count them as over. */
void recipe_turn_say_cached(struct recipe_turn *turn);

/* Store the recipe that has become more exact, and look into the cache again. If the cache has more
 * steps than the sandbox, or the sandbox is the wrong one, leave it: row.sandbox_id is then "", and
 * the next turn makes another one. */
int recipe_turn_begin_again(struct recipe_turn *turn, bool is_wrong, struct error **err);

/* Take the digests of images and layers that a step has asked for. *found: with them, a version, a
 * cached step or cached layers were found; the next turn begins with them. Errors: those of
 * agent_exec(). */
int recipe_turn_take_digests(struct recipe_turn *turn, struct recipe_place *place, bool *found,
                             struct error **err);

/* Cache the step that is over. A failure is only logged. */
int recipe_turn_cache(struct recipe_turn *turn, const struct recipe_place *place,
                      struct error **err);

/* Cache the layers that the step has unpacked, likewise. */
int recipe_turn_cache_layers(struct recipe_turn *turn, struct recipe_place *place,
                             struct error **err);

/* --- recipe_memory.c --- */

/* Keep the memory of the sandbox for the version. That it cannot be kept is no failure. */
int recipe_turn_keep_memory(struct recipe_turn *turn, struct recipe_place *place,
                            struct error **err);

/* Look whether the memory is saved, which another worker has begun. */
int recipe_turn_look_at_memory(struct recipe_turn *turn, struct error **err);
