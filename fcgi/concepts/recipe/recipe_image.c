/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe_image.h"

#include <string.h>

#include "base/mem.h"
#include "recipe/recipe_user.h"

#define MIB 1048576

/* The program in the sandbox keeps these bounds. The sandbox's own disk and deadline hold too. */
static json_t *step_of(const struct settings *settings, const struct recipe_image *image,
                       const struct image_reference *place, bool plain_http)
{
    json_t *step = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:I, s:I}", "type", RECIPE_IMAGE_STEP, "image",
        image->name, "registry", place->registry, "repository", place->repository, "reference",
        *place->digest ? place->digest : place->tag, "plain_http", (int)plain_http, "bytes_max",
        (json_int_t)settings->image_max_mb * MIB, "files_max", (json_int_t)IMAGE_FILES_MAX,
        "seconds", (json_int_t)IMAGE_TIME_MAX_S);
    if (image->user) {
        json_object_set_new(step, "user", json_string(image->user));
        json_object_set_new(step, "password", json_string(image->password));
    }
    if (image->aws_region)
        json_object_set_new(step, "aws_region", json_string(image->aws_region));
    return step;
}

static int find_step(const struct settings *settings, const struct recipe_image *image,
                     const json_t *recipe, json_t **step, struct error **err)
{
    struct image_reference place = {.registry = ""};
    bool plain_http = false;
    if (!image_is_empty(image->name) &&
        (image_reference_parse(image->name, settings->image_registry_default, &place, err) < 0 ||
         image_reference_place(settings, &place, &plain_http, err) < 0))
        return -1;
    *step = step_of(settings, image, &place, plain_http);
    if (recipe_adds_user(recipe))
        json_object_set_new(*step, RECIPE_WITHOUT_USER, json_true());
    return 0;
}

/* Copy the recipe, with these steps in front of its own; takes them. */
static json_t *with_steps(const json_t *recipe, json_t *steps)
{
    json_t *whole = json_copy((json_t *)(uintptr_t)recipe);
    json_array_extend(steps, json_object_get(recipe, "steps"));
    json_object_set_new(whole, "steps", steps);
    return whole;
}

int recipe_image_add(const struct settings *settings, const struct recipe_image *image,
                     const json_t *recipe, json_t **whole, struct error **err)
{
    json_t *step;
    if (find_step(settings, image, recipe, &step, err) < 0)
        return -1;
    *whole = with_steps(recipe, json_pack("[o]", step));
    return 0;
}

/* Each stage begins with a tree of its own. The root of the sandbox is that of the first stage that
 * begins with the template. */
static json_t *copy_of_template(const struct recipe_image bases[], size_t count)
{
    json_t *numbers = json_array(), *moves = NULL;
    const char *name = NULL;
    for (size_t i = 1; i < count; i++) {
        if (!bases[i].is_template)
            continue;
        name = bases[i].name;
        if (!bases->is_template && !moves)
            moves = json_integer((json_int_t)i);
        else
            json_array_append_new(numbers, json_integer((json_int_t)i));
    }
    if (name)
        return json_pack("{s:s, s:s, s:o, s:o*}", "type", RECIPE_TEMPLATE_STEP, "path", name,
                         "numbers", numbers, RECIPE_MOVES, moves);
    json_decref(numbers);
    return NULL;
}

static int add_stages(const struct settings *settings, const struct recipe_image bases[],
                      size_t count, const json_t *recipe, json_t **whole, struct error **err)
{
    json_auto_t *steps = json_array();
    json_t *step;
    for (size_t i = 0; i < count; i++) {
        if (bases[i].is_template)
            continue;
        if (find_step(settings, &bases[i], recipe, &step, err) < 0)
            return -1;
        json_object_set_new(step, "stage", json_integer((json_int_t)i));
        json_array_append_new(steps, step);
    }
    step = copy_of_template(bases, count);
    if (step)
        json_array_append_new(steps, step);
    *whole = with_steps(recipe, json_incref(steps));
    return 0;
}

int recipe_image_add_bases(const struct settings *settings, const struct recipe_image bases[],
                           size_t count, const json_t *recipe, json_t **whole, struct error **err)
{
    if (count > 1)
        return add_stages(settings, bases, count, recipe, whole, err);
    if (!bases->is_template)
        return recipe_image_add(settings, bases, recipe, whole, err);
    *whole = recipe_on_template(recipe);
    return 0;
}

/* --- the image's configuration --- */

static json_t *strings_of(const json_t *value)
{
    json_t *strings = json_array();
    size_t at;
    json_t *one;
    json_array_foreach ((json_t *)(uintptr_t)value, at, one) {
        if (json_is_string(one))
            json_array_append(strings, one);
    }
    return strings;
}

static json_t *variables_of(const json_t *value)
{
    json_t *variables = json_object();
    const char *name;
    json_t *one;
    json_object_foreach ((json_t *)(uintptr_t)value, name, one) {
        if (json_is_string(one))
            json_object_set(variables, name, one);
    }
    return variables;
}

json_t *recipe_image_config(const json_t *defaults)
{
    static const char *const texts[] = {"name", "digest",  "platform",
                                        "user", "workdir", "stop_signal"};
    static const char *const lists[] = {"entrypoint", "command",      "exposed_ports",
                                        "volumes",    "health_check", "shell"};
    const json_t *said = json_object_get(defaults, "image");
    if (!json_is_object(said))
        return NULL;
    json_t *config = json_object();
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const char *text = json_string_value(json_object_get(said, texts[i]));
        json_object_set_new(config, texts[i], json_string(text ? text : ""));
    }
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        json_object_set_new(config, lists[i], strings_of(json_object_get(said, lists[i])));
    json_object_set_new(config, "envs", variables_of(json_object_get(said, "envs")));
    return config;
}
