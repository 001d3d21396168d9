/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe_cache.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "recipe/recipe_file.h"
#include "recipe/recipe_image.h"

static const char *text_of(const json_t *step, const char *name)
{
    const char *text = json_string_value(json_object_get(step, name));
    return text ? text : "";
}

static bool is_image(const json_t *step)
{
    return str_equal(text_of(step, "type"), RECIPE_IMAGE_STEP);
}

static bool is_exact(const json_t *step)
{
    return str_starts_with(text_of(step, "reference"), "sha256:");
}

bool recipe_lacks_digest(const json_t *step)
{
    return is_image(step) && !is_exact(step) && !json_object_get(step, "user");
}

static bool has_key(const json_t *step)
{
    return !is_image(step) || (is_exact(step) && !json_object_get(step, "user"));
}

/* Return what decides the result of a step. *known false: an archive is gone. */
static int describe(struct db *db, const char *team_id, const json_t *step, char **text,
                    bool *known, struct error **err)
{
    json_auto_t *told = json_copy((json_t *)(uintptr_t)step);
    const char *hash = json_string_value(json_object_get(step, "files"));
    struct recipe_file file;
    *known = true;
    if (hash && recipe_file_find(db, team_id, hash, &file, known, err) < 0)
        return -1;
    if (!*known)
        return 0;
    if (hash)
        json_object_set_new(told, "files", json_string(file.content_hash));
    json_object_del(told, "line");
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

int recipe_keys_read(struct db *db, const char *team_id, const char *base_id, const json_t *recipe,
                     struct recipe_keys *keys, struct error **err)
{
    const json_t *steps = json_object_get(recipe, "steps");
    bool dockerfile = json_object_get(recipe, RECIPE_CONFIG);
    autofree char *first = xasprintf("%s %s %d", team_id, base_id, dockerfile);
    keys->known = 0;
    chain("", first, keys->at[0]);
    for (size_t i = 0; i < json_array_size(steps) && i + 1 < ARRAY_SIZE(keys->at); i++) {
        const json_t *step = json_array_get(steps, i);
        autowipe char *text = NULL;
        bool known;
        if (!has_key(step))
            return 0;
        if (describe(db, team_id, step, &text, &known, err) < 0)
            return -1;
        if (!known)
            return 0;
        chain(keys->at[i], text, keys->at[i + 1]);
        keys->known = (unsigned)i + 1;
    }
    return 0;
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
    json_object_set_new(rest, "cpu", json_integer(version->cpu));
    json_object_set_new(rest, "memory_mb", json_integer(version->memory_mb));
    autowipe char *text = json_dumps(rest, JSON_COMPACT | JSON_SORT_KEYS);
    chain(keys->at[keys->known], text, key);
}
