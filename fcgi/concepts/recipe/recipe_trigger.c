/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ONBUILD of a base. Only its defaults have the instructions. When the sandbox has the base's root,
 * the Dockerfile is planned once more with them, because they may affect any later instruction. If
 * the steps that have run already change too, the build begins again in another sandbox. */
#include "base/mem.h"
#include "base/str.h"
#include "recipe/recipe_image.h"
#include "recipe/recipe_mount.h"
#include "recipe/recipe_turn.h"

#define WHOLE_MAX (RECIPE_SEALED_MAX - 1024) /* bytes, before they are sealed */
/* Members of the build. */
#define KNOWN "triggers" /* of the bases that were there: name: list of texts */
#define OWN   "own"      /* "steps" and RECIPE_CONFIG without those of bases */

static bool is_type(const json_t *step, const char *type)
{
    return str_equal(recipe_text(step, "type"), type);
}

/* Return the name of the base whose root is new in the sandbox; NULL: the next step is not the
 * first one behind a base. */
static const char *base_at(const struct recipe_place *place, unsigned step)
{
    const json_t *next = recipe_step_at(place, step);
    const json_t *before = step ? recipe_step_at(place, step - 1) : NULL;
    const char *target = recipe_text(json_object_get(place->recipe, RECIPE_BUILD), "base");
    /* When the build has finished, the defaults have its own ONBUILD, which is for others. */
    if (step > recipe_step_count(place))
        return NULL;
    if (is_type(before, "stage"))
        return json_object_get(before, "files_only") ? NULL : recipe_text(before, "path");
    /* A build of several stages has a step for each of its bases. */
    if (!before)
        return is_type(next, RECIPE_IMAGE_STEP) || is_type(next, RECIPE_TEMPLATE_STEP) ||
                       is_type(next, "stage")
                   ? NULL
                   : target;
    return is_type(before, RECIPE_IMAGE_STEP) && !json_object_get(before, "stage") ? target : NULL;
}

/* --- the bases of the new plan --- */

static const json_t *image_step(const json_t *steps, const char *name)
{
    size_t at;
    json_t *step;
    json_array_foreach ((json_t *)(uintptr_t)steps, at, step) {
        if (is_type(step, RECIPE_IMAGE_STEP) && str_equal(recipe_text(step, "image"), name))
            return step;
    }
    return NULL;
}

static bool has_name(const json_t *build, const char *member, const char *name)
{
    size_t at;
    json_t *one;
    json_array_foreach (json_object_get(build, member), at, one) {
        if (str_equal(json_string_value(one), name))
            return true;
    }
    return false;
}

/* A name that only the base's ONBUILD has is an image. */
static int find_base(const json_t *recipe, const char *name, struct recipe_image *base,
                     struct error **err)
{
    const json_t *build = json_object_get(recipe, RECIPE_BUILD);
    const json_t *step = image_step(json_object_get(recipe, "steps"), name);
    *base = (struct recipe_image){
        .name = name,
        .user = json_string_value(json_object_get(step, "user")),
        .password = json_string_value(json_object_get(step, "password")),
        .is_template = has_name(build, RECIPE_TEMPLATES, name),
    };
    if (!has_name(build, RECIPE_OTHER_TEMPLATES, name))
        return 0;
    return error_set(err, ERR_INVALID_REQUEST,
                     "ONBUILD of the base copies from a stage that begins with %.128s, another "
                     "template than that of the last stage. Begin this stage with an image.",
                     name);
}

/* The digests that were asked for stay. */
static void keep_digests(const json_t *before, json_t *steps)
{
    size_t at;
    json_t *step;
    json_array_foreach (steps, at, step) {
        const json_t *old = is_type(step, RECIPE_IMAGE_STEP)
                                ? image_step(before, recipe_text(step, "image"))
                                : NULL;
        json_t *layers = json_object_get(old, RECIPE_LAYERS);
        if (old)
            json_object_set(step, "reference", json_object_get(old, "reference"));
        if (layers)
            json_object_set(step, RECIPE_LAYERS, layers);
    }
}

/* Return the steps of the plan behind those that make the roots of its bases. *steps: a new
 * reference. */
static int find_steps(const struct recipe_turn *turn, const struct dockerfile_plan *plan,
                      json_t **steps, struct error **err)
{
    const json_t *recipe = json_object_get(turn->whole, "recipe");
    size_t count = json_array_size(plan->bases);
    struct recipe_image bases[DOCKERFILE_STAGES_MAX];
    json_auto_t *fresh = json_pack("{s:O}", "steps", plan->steps);
    json_auto_t *whole = NULL;
    error_auto failure = NULL;
    for (size_t i = 0; i < count; i++)
        if (find_base(recipe, json_string_value(json_array_get(plan->bases, i)), &bases[i], err) <
            0)
            return -1;
    if (recipe_image_add_bases(turn->worker->settings, bases, count, fresh, &whole, &failure) < 0)
        return error_set(err, ERR_INVALID_REQUEST, "ONBUILD of the base: %s", failure->message);
    *steps = json_incref(json_object_get(whole, "steps"));
    keep_digests(json_object_get(recipe, "steps"), *steps);
    return 0;
}

/* --- the new steps --- */

static bool are_same(const json_t *some, const json_t *others, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!json_equal(json_array_get(some, i), json_array_get(others, i)))
            return false;
    return true;
}

/* Replace the steps. *is_same: those that have run did not change. */
static int replace(const struct recipe_turn *turn, const struct dockerfile_plan *plan,
                   bool *is_same, struct error **err)
{
    json_t *recipe = json_object_get(turn->whole, "recipe");
    json_t *build = json_object_get(recipe, RECIPE_BUILD);
    json_t *before = json_object_get(recipe, "steps");
    json_auto_t *steps = NULL;
    if (find_steps(turn, plan, &steps, err) < 0)
        return -1;
    *is_same = are_same(before, steps, turn->row.step);
    if (!json_object_get(build, OWN))
        json_object_set_new(build, OWN,
                            json_pack("{s:O, s:O}", "steps", before, RECIPE_CONFIG,
                                      json_object_get(recipe, RECIPE_CONFIG)));
    json_object_set(recipe, "steps", steps);
    json_object_set(recipe, RECIPE_CONFIG, plan->config);
    if (json_dumpb(turn->whole, NULL, 0, JSON_COMPACT) <= WHOLE_MAX)
        return 0;
    return error_set(err, ERR_INVALID_REQUEST,
                     "With the ONBUILD instructions of the base, the build has more than %zu KiB.",
                     WHOLE_MAX >> 10);
}

/* The sandbox was made before the steps were known that have RUN --mount=type=cache. */
static bool lacks_mount(const struct recipe_turn *turn)
{
    return recipe_mount_is_wanted(turn, turn->row.step) && !sandbox_has_volumes(&turn->sandbox);
}

static int begin_again(struct recipe_turn *turn, bool is_same, bool was_wanted, struct error **err)
{
    bool is_wrong = !is_same || (!was_wanted && lacks_mount(turn));
    if (recipe_turn_begin_again(turn, is_wrong, err) < 0)
        return -1;
    return is_same || !*turn->row.sandbox_id
               ? 0
               : error_set(err, ERR_INVALID_REQUEST,
                           "ONBUILD of the base copies from a stage or an image, so the build "
                           "would have to begin again, and its registry login is deleted. Build a "
                           "template from the base first, and begin with this template.");
}

/* Plan the Dockerfile with the ONBUILD instructions of one more base. */
static int add(struct recipe_turn *turn, const char *base, json_t *triggers, struct error **err)
{
    json_t *recipe = json_object_get(turn->whole, "recipe");
    json_t *build = json_object_get(recipe, RECIPE_BUILD);
    bool was_wanted = recipe_mount_is_wanted(turn, turn->row.step), is_same = false;
    struct dockerfile_plan plan;
    if (!json_object_get(build, KNOWN))
        json_object_set_new(build, KNOWN, json_object());
    json_object_set(json_object_get(build, KNOWN), base, triggers);
    int result = dockerfile_plan_again(build, json_object_get(recipe, RECIPE_SECRETS),
                                       json_object_get(build, KNOWN), &plan, err);
    if (result == 0)
        result = replace(turn, &plan, &is_same, err);
    dockerfile_plan_deinit(&plan);
    return result < 0 ? -1 : begin_again(turn, is_same, was_wanted, err);
}

int recipe_turn_add_triggers(struct recipe_turn *turn, const struct recipe_place *place,
                             struct error **err)
{
    json_t *triggers =
        json_object_get(json_object_get(place->defaults, "image"), DOCKERFILE_TRIGGERS);
    const json_t *build = json_object_get(place->recipe, RECIPE_BUILD);
    if (!json_array_size(triggers) || turn->row.state != RECIPE_RUNNING || turn->row.begun ||
        !build)
        return 0;
    const char *base = base_at(place, turn->row.step);
    if (!base || json_object_get(json_object_get(build, KNOWN), base))
        return 0;
    recipe_turn_say(turn, "adding the ONBUILD instructions of the base");
    autofree char *name = xstrdup(base);
    return add(turn, name, triggers, err);
}

void recipe_triggers_drop(json_t *recipe)
{
    json_t *build = json_object_get(recipe, RECIPE_BUILD);
    const json_t *own = json_object_get(build, OWN);
    json_object_del(build, KNOWN);
    if (!own)
        return;
    json_object_set(recipe, "steps", json_object_get(own, "steps"));
    json_object_set(recipe, RECIPE_CONFIG, json_object_get(own, RECIPE_CONFIG));
    json_object_del(build, OWN);
}
