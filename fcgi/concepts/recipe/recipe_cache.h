/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cache of steps. After a step that takes a while, the build keeps a checkpoint of its sandbox.
 * A later build of the team with the same base and the same steps up to there begins with this
 * checkpoint. The key of a step is a hash of the base, the step and all earlier steps. The hash
 * includes the content of the files that they copy.
 *
 * If the whole recipe equals that of a ready version of the team, the new version gets a copy of
 * the ready version's files. It also shares the memory.
 *
 * A tag may point to another image tomorrow, so the step asks the registry for its digest first. A
 * login is no part of a key, so images with a login and the steps after them are not cached.
 *
 * The layers of an image have keys too, without the name of the image. Another image with the same
 * lower layers begins with them.
 */
#pragma once

#include <jansson.h>

#include "checkpoint/checkpoint.h"
#include "recipe/recipe.h"

#define RECIPE_KEY_SIZE 65

/* The keys of the first steps; at: by the number of steps that are over. */
struct recipe_keys {
    unsigned known; /* steps that have a key */
    char at[RECIPE_STEPS_MAX + DOCKERFILE_STAGES_MAX + 1][RECIPE_KEY_SIZE];
};
/* Return whether the digests of an image and of its layers are still to be asked for. */
bool recipe_lacks_digests(const json_t *step);
/* Read the keys of the recipe's steps, up to the first step without a key. */
int recipe_keys_read(struct db *db, const char *team_id, const char *base_id, const json_t *recipe,
                     struct recipe_keys *keys, struct error **err);

/* Write the key of the whole result. It is a hash of all steps, and of all other members that
 * affect the files and the start of the version. "": the key is not known. */
void recipe_result_key(const struct recipe_keys *keys, const json_t *recipe,
                       const struct template_version *version, char key[RECIPE_KEY_SIZE]);

/* Find the newest ready version of the team with this key. id "": none. */
int recipe_same_find(struct db *db, const char *team_id, const char *key, char id[ID_SIZE],
                     struct error **err);

/* Write the key of the layers of an image: of the one with this digest, and all below it. "": the
 * key is not known. */
void recipe_layers_key(const struct recipe_keys *keys, const json_t *recipe, unsigned step,
                       const char *digest, char key[RECIPE_KEY_SIZE]);

/* A checkpoint of steps that are over, and of layers of the image that the next step fetches. */
struct recipe_cached {
    struct checkpoint checkpoint; /* id "": none */
    unsigned steps, layers;
};
/* Find the checkpoint of as many steps and layers as possible. This counts as a use. */
int recipe_cache_find(struct db *db, const char *team_id, const struct recipe_keys *keys,
                      const json_t *recipe, struct recipe_cached *cached, struct error **err);
/* Return whether a key has a checkpoint. This counts as a use. */
int recipe_cache_has(struct db *db, const char *team_id, const char *key, bool *has,
                     struct error **err);

/* Inside the transaction that inserts the checkpoint: add it, in the place of an older one. */
int recipe_cache_add(struct db *db, const char *team_id, const char *key, const char *checkpoint_id,
                     struct error **err);

/* The bounds of a team. */
struct recipe_cache_bounds {
    uint64_t steps, gb;
};

/* Delete the steps beyond the bounds, the longest unused first, and those that no build can use any
 * more; a few at once. Look at the teams with builds since since_ms, and at the next teams after
 * the id `after` ("": the first ones). after: returns where the next call continues. */
int recipe_cache_trim(struct db *db, const struct recipe_cache_bounds *bounds, int64_t since_ms,
                      char after[ID_SIZE], struct error **err);

/* Do this with the bounds of the settings, for the next teams. */
int recipe_cache_purge(struct worker *worker, struct error **err);
