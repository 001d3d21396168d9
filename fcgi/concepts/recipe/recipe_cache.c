/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe_cache.h"

#include <sodium.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "recipe/recipe_file.h"
#include "recipe/recipe_image.h"
#include "recipe/recipe_listing.h"
#include "recipe/recipe_step.h"

static bool is_image(const json_t *step)
{
    return str_equal(recipe_text(step, "type"), RECIPE_IMAGE_STEP);
}

static bool is_exact(const json_t *step)
{
    return str_starts_with(recipe_text(step, "reference"), "sha256:");
}

bool recipe_lacks_digests(const json_t *step)
{
    return is_image(step) && !json_object_get(step, RECIPE_LAYERS) &&
           !json_object_get(step, "user");
}

static bool has_key(const json_t *step)
{
    return !is_image(step) || (is_exact(step) && !json_object_get(step, "user"));
}

struct keying {
    struct db *db;
    const char *team_id;
    struct recipe_file file; /* the last one; id "": none */
    json_t *listing;         /* of it */
    size_t left;             /* of RECIPE_LISTING_WORK */
};

static int find_file(struct keying *keying, const char *hash, bool *found, struct error **err)
{
    if (*keying->file.id && str_equal(keying->file.hash, hash))
        return 0;
    if (recipe_file_find(keying->db, keying->team_id, hash, &keying->file, found, err) < 0)
        return -1;
    json_decref(keying->listing);
    keying->listing = NULL;
    if (!*found)
        *keying->file.id = '\0';
    if (!*found || !keying->left)
        return 0;
    if (recipe_file_listing(keying->db, keying->file.id, &keying->listing, err) < 0)
        return -1;
    recipe_listing_take_work(keying->listing, &keying->left);
    return 0;
}

/* The files that the step copies; the whole archive, if the step knows its source only when it
 * runs, or copies by patterns of any depth. */
static json_t *files_of(struct keying *keying, const json_t *step)
{
    const char *source = recipe_text(step, "source");
    char key[RECIPE_LISTING_KEY_SIZE] = "";
    bool is_open = json_is_true(json_object_get(step, "open")) && strpbrk(source, "$\\");
    if (keying->listing && !is_open && !json_object_get(step, "parents"))
        recipe_listing_key(keying->listing, source, &keying->left, key);
    return json_string(*key ? key : keying->file.content_hash);
}

/* Return all inputs of a step as a text. *known false: an archive is gone. */
static int describe(struct keying *keying, const json_t *step, char **text, bool *known,
                    struct error **err)
{
    json_auto_t *told = json_copy((json_t *)(uintptr_t)step);
    const char *hash = json_string_value(json_object_get(step, "files"));
    *known = true;
    if (hash && find_file(keying, hash, known, err) < 0)
        return -1;
    if (!*known)
        return 0;
    if (hash)
        json_object_set_new(told, "files", files_of(keying, step));
    json_object_del(told, "line");
    json_object_del(told, RECIPE_LAYERS);
    json_object_del(told, "proxies");
    *text = json_dumps(told, JSON_COMPACT | JSON_SORT_KEYS);
    return 0;
}

static void chain(const char *before, const char *text, char key[RECIPE_KEY_SIZE])
{
    unsigned char sum[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const unsigned char *)before, strlen(before) + 1);
    crypto_hash_sha256_update(&state, (const unsigned char *)text, strlen(text));
    crypto_hash_sha256_final(&state, sum);
    sodium_bin2hex(key, RECIPE_KEY_SIZE, sum, sizeof sum);
}

static int read_keys(struct keying *keying, const char *base_id, const json_t *recipe,
                     struct recipe_keys *keys, struct error **err)
{
    const json_t *steps = json_object_get(recipe, "steps");
    bool dockerfile = json_object_get(recipe, RECIPE_CONFIG);
    autofree char *first = xasprintf("%s %s %d", keying->team_id, base_id, dockerfile);
    keys->known = 0;
    chain("", first, keys->at[0]);
    for (size_t i = 0; i < json_array_size(steps) && i + 1 < ARRAY_SIZE(keys->at); i++) {
        const json_t *step = json_array_get(steps, i);
        autowipe char *text = NULL;
        bool known;
        if (!has_key(step))
            return 0;
        if (describe(keying, step, &text, &known, err) < 0)
            return -1;
        if (!known)
            return 0;
        chain(keys->at[i], text, keys->at[i + 1]);
        keys->known = (unsigned)i + 1;
    }
    return 0;
}

int recipe_keys_read(struct db *db, const char *team_id, const char *base_id, const json_t *recipe,
                     struct recipe_keys *keys, struct error **err)
{
    struct keying keying = {.db = db, .team_id = team_id, .left = RECIPE_LISTING_WORK};
    int result = read_keys(&keying, base_id, recipe, keys, err);
    json_decref(keying.listing);
    return result;
}

void recipe_layers_key(const struct recipe_keys *keys, const json_t *recipe, unsigned step,
                       const char *digest, char key[RECIPE_KEY_SIZE])
{
    const json_t *image = json_array_get(json_object_get(recipe, "steps"), step);
    *key = '\0';
    if (step > keys->known)
        return;
    /* Each stage has a folder of its own. */
    autofree char *text = json_object_get(image, "stage")
                              ? xasprintf("layers of a stage %s", digest)
                              : xasprintf("layers %s", digest);
    chain(keys->at[step], text, key);
}

void recipe_result_key(const struct recipe_keys *keys, const json_t *recipe,
                       const struct template_version *version, char key[RECIPE_KEY_SIZE])
{
    json_auto_t *rest = json_copy((json_t *)(uintptr_t)recipe);
    *key = '\0';
    if (keys->known != json_array_size(json_object_get(recipe, "steps")))
        return;
    json_object_del(rest, "steps");
    json_object_del(rest, "no_cache");
    json_object_del(rest, RECIPE_SECRETS);
    json_object_del(rest, RECIPE_BUILD);
    json_object_set_new(rest, "cpu", json_integer(version->cpu));
    json_object_set_new(rest, "memory_mb", json_integer(version->memory_mb));
    autowipe char *text = json_dumps(rest, JSON_COMPACT | JSON_SORT_KEYS);
    chain(keys->at[keys->known], text, key);
}
