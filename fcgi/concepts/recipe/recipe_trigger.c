/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ONBUILD of a base. Only its defaults have the instructions, so the steps are added when the
 * sandbox has the base's root. */
#include "base/mem.h"
#include "base/str.h"
#include "recipe/recipe_mount.h"
#include "recipe/recipe_setting.h"
#include "recipe/recipe_turn.h"

#define STEPS_MAX (RECIPE_STEPS_MAX + DOCKERFILE_STAGES_MAX)
#define WHOLE_MAX (RECIPE_SEALED_MAX - 1024) /* bytes, before they are sealed */
/* Members of the build. */
#define ADDED      "added"  /* up to this step, no instructions are missing */
#define OWN_CONFIG "config" /* RECIPE_CONFIG without that of the base */

/* Return whether the next step is the first one behind a base. */
static bool is_at_base(const struct recipe_place *place, unsigned step)
{
    if (recipe_step_is_image(place, step))
        return false;
    if (!step)
        return true;
    const json_t *before = recipe_step_at(place, step - 1);
    return (str_equal(recipe_text(before, "type"), "stage") &&
            !json_object_get(before, "files_only")) ||
           (recipe_step_is_image(place, step - 1) && !json_object_get(before, "stage"));
}

static unsigned line_of(const struct recipe_place *place, unsigned step, unsigned line)
{
    const json_t *before = step ? recipe_step_at(place, step - 1) : NULL;
    return str_equal(recipe_text(before, "type"), "stage")
               ? (unsigned)json_integer_value(json_object_get(before, "line"))
               : line;
}

/* Of both configurations, that of the Dockerfile decides. */
static void add_config(json_t *config, json_t *more)
{
    static const char *const lists[] = {"exposed_ports", "volumes"};
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        json_t *own = json_object_get(config, lists[i]);
        if (own)
            json_array_extend(own, json_object_get(more, lists[i]));
    }
    json_object_update_missing(config, more);
}

static bool is_last_base(const json_t *steps, size_t from)
{
    for (size_t i = from; i < json_array_size(steps); i++)
        if (str_equal(recipe_text(json_array_get(steps, i), "type"), "stage"))
            return false;
    return true;
}

static int insert(const struct recipe_turn *turn, const struct dockerfile_plan *plan,
                  struct error **err)
{
    json_t *recipe = json_object_get(turn->whole, "recipe");
    json_t *steps = json_object_get(recipe, "steps");
    json_t *config = json_object_get(recipe, RECIPE_CONFIG);
    json_t *build = json_object_get(recipe, RECIPE_BUILD);
    size_t at;
    json_t *step;
    if (json_array_size(steps) + json_array_size(plan->steps) > STEPS_MAX)
        return error_set(err, ERR_INVALID_REQUEST,
                         "With the ONBUILD instructions of the base, the build has more than %d "
                         "steps.",
                         STEPS_MAX);
    if (is_last_base(steps, turn->row.step)) {
        json_object_set_new(build, OWN_CONFIG, json_deep_copy(config));
        add_config(config, plan->config);
    }
    json_array_foreach (plan->steps, at, step)
        json_array_insert(steps, turn->row.step + at, step);
    json_object_set_new(build, ADDED, json_integer(turn->row.step + 1));
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

static int add(struct recipe_turn *turn, const struct recipe_place *place, const json_t *triggers,
               struct error **err)
{
    bool was_wanted = recipe_mount_is_wanted(turn, turn->row.step);
    struct dockerfile_build build;
    struct dockerfile_plan plan;
    unsigned line = dockerfile_build_read(json_object_get(place->recipe, RECIPE_BUILD),
                                          json_object_get(place->recipe, RECIPE_SECRETS), &build);
    line = line_of(place, turn->row.step, line);
    int result = dockerfile_plan_triggers(triggers, &build, line, &plan, err);
    if (result == 0)
        result = insert(turn, &plan, err);
    dockerfile_plan_deinit(&plan);
    return result < 0 ? -1 : recipe_turn_begin_again(turn, !was_wanted && lacks_mount(turn), err);
}

int recipe_turn_add_triggers(struct recipe_turn *turn, const struct recipe_place *place,
                             struct error **err)
{
    const json_t *triggers =
        json_object_get(json_object_get(place->defaults, "image"), DOCKERFILE_TRIGGERS);
    const json_t *build = json_object_get(place->recipe, RECIPE_BUILD);
    unsigned step = turn->row.step;
    if (!json_array_size(triggers) || turn->row.state != RECIPE_RUNNING || turn->row.begun ||
        !build || !is_at_base(place, step) ||
        json_integer_value(json_object_get(build, ADDED)) > (json_int_t)step)
        return 0;
    recipe_turn_say(turn, "adding the ONBUILD instructions of the base");
    return add(turn, place, triggers, err);
}

void recipe_triggers_drop(json_t *recipe)
{
    json_t *build = json_object_get(recipe, RECIPE_BUILD);
    json_t *steps = json_object_get(recipe, "steps");
    json_t *config = json_object_get(build, OWN_CONFIG);
    for (size_t at = json_array_size(steps); at--;)
        if (json_object_get(json_array_get(steps, at), DOCKERFILE_TRIGGERS))
            json_array_remove(steps, at);
    if (config)
        json_object_set(recipe, RECIPE_CONFIG, config);
    json_object_del(build, OWN_CONFIG);
    json_object_del(build, ADDED);
}
