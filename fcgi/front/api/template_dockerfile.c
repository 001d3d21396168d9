/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/template_dockerfile.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/mem.h"
#include "base/str.h"
#include "recipe/recipe_file.h"

const struct schema_member template_build_arg_item = {.type = SCHEMA_STRING,
                                                      .max = DOCKERFILE_VALUE_MAX};

const struct schema_member template_secret_item = {.type = SCHEMA_STRING,
                                                   .max = DOCKERFILE_SECRET_MAX};

static int check_context(struct api *api, const char *hash, struct error **err)
{
    struct recipe_file file;
    bool found;
    if (!hash)
        return 0;
    if (!recipe_hash_is_valid(hash))
        return error_set_field(err, ERR_INVALID_REQUEST, DOCKERFILE_CONTEXT_FIELD,
                               "A hash has %d to %d lower-case hexadecimal digits.",
                               RECIPE_HASH_MIN, RECIPE_HASH_MAX);
    if (recipe_file_find(api->worker.db, api->access.team->id, hash, &file, &found, err) < 0)
        return -1;
    return found ? 0
                 : error_set_field(err, ERR_INVALID_REQUEST, DOCKERFILE_CONTEXT_FIELD,
                                   "No archive with this hash was uploaded.");
}

/* Return the processor as Docker names it. The hosts have the same. */
static const char *machine_name(void)
{
    static struct utsname self;
    uname(&self);
    return str_equal(self.machine, "x86_64")    ? "amd64"
           : str_equal(self.machine, "aarch64") ? "arm64"
                                                : NULL;
}

int template_dockerfile_plan(struct api *api, const json_t *body, struct dockerfile_plan *plan,
                             struct error **err)
{
    const char *text = json_string_value(json_object_get(body, "dockerfile"));
    const struct dockerfile_build build = {
        .args = json_object_get(body, "build_args"),
        .secrets = json_object_get(body, "secrets"),
        .target = json_string_value(json_object_get(body, "target")),
        .context = json_string_value(json_object_get(body, "context")),
        .machine = machine_name(),
    };
    dockerfile_auto *file = NULL;
    *plan = (struct dockerfile_plan){.bases = NULL};
    if (dockerfile_parse(text, strlen(text), &file, err) < 0 ||
        dockerfile_plan(file, &build, plan, err) < 0)
        return -1;
    return check_context(api, build.context, err);
}

/* Let an error begin with the place, as those of the plan do. column: NULL: it is not known. */
static void put_line(struct error *error, const json_t *line, const json_t *column)
{
    long long number = json_integer_value(line);
    autofree char *message = column
                                 ? xasprintf("Line %lld, column %lld: %s", number,
                                             (long long)json_integer_value(column), error->message)
                                 : xasprintf("Line %lld: %s", number, error->message);
    free(error->message);
    error->message = xstrdup(message);
    free(error->field);
    error->field = xstrdup(DOCKERFILE_FIELD);
}

static void put_place(struct error *error, const json_t *place)
{
    put_line(error, json_array_get(place, 0), json_array_get(place, 1));
}

static int check_image_name(const struct api *api, const char *name, const json_t *place,
                            struct error **err)
{
    struct image_reference reference;
    autofree char *template = NULL;
    if (image_reference_template(api->settings, name, &template, err) < 0)
        return -1;
    if (template || image_is_empty(name) ||
        image_reference_parse(name, api->settings->image_registry_default, &reference, err) == 0)
        return 0;
    put_place(*err, place);
    return -1;
}

/* A template of the team that has no version yet is never taken for an image of the same name. With
 * a tag that the template does not have, the name is an image: python:3.12. */
static int has_template(struct api *api, const char *name, bool *has, struct error **err)
{
    const struct team *team = api->access.team;
    autofree struct template_version *versions = NULL;
    unsigned count = 0;
    *has = false;
    if (!slug_is_valid(name))
        return 0;
    if (template_version_list_named(api->worker.db, team->id, team->slug, name, &versions, &count,
                                    err) < 0)
        return -1;
    *has = count > 0;
    return 0;
}

static int find_base(struct api *api, const char *name, bool has_login, bool *is_template,
                     struct error **err)
{
    struct template_version version;
    error_auto missing = NULL;
    bool is_building;
    *is_template = false;
    /* A login is for a registry. */
    if (image_reference_has_registry(name) || image_is_empty(name) || has_login)
        return 0;
    *is_template = template_resolve(api->worker.db, api->access.team->id, name, DOCKERFILE_FIELD,
                                    &version, &missing) == 0;
    if (*is_template)
        return 0;
    if (has_template(api, name, &is_building, err) < 0)
        return -1;
    return missing->code == ERR_TEMPLATE_NOT_FOUND && !is_building ? 0 : error_move(err, &missing);
}

/* The login is for the registry of the last stage. Others do not see it. */
static bool shares_registry(const struct settings *settings, const char *name, const char *last)
{
    struct image_reference one, other;
    error_auto ignored = NULL;
    return image_reference_parse(name, settings->image_registry_default, &one, &ignored) == 0 &&
           image_reference_parse(last, settings->image_registry_default, &other, &ignored) == 0 &&
           str_equal(one.registry, other.registry);
}

static void add_stages(struct api *api, const struct dockerfile_plan *plan,
                       struct template_origin *origin, struct recipe_image *stages)
{
    origin->stages = stages;
    origin->stage_count = json_array_size(plan->bases);
    for (size_t i = 0; i < origin->stage_count; i++) {
        const char *name = json_string_value(json_array_get(plan->bases, i));
        stages[i] = (struct recipe_image){.name = name};
        if (!shares_registry(api->settings, name, origin->image.name))
            continue;
        stages[i].user = origin->image.user;
        stages[i].password = origin->image.password;
    }
}

int template_dockerfile_origin(struct api *api, const struct dockerfile_plan *plan,
                               struct template_origin *origin,
                               struct recipe_image stages[DOCKERFILE_STAGES_MAX],
                               struct error **err)
{
    size_t count = json_array_size(plan->bases);
    bool is_template = false;
    const char *name = NULL;
    origin->field = DOCKERFILE_FIELD;
    for (size_t i = 0; i < count; i++) {
        name = json_string_value(json_array_get(plan->bases, i));
        const json_t *place = json_array_get(plan->places, i);
        if (find_base(api, name, origin->image.user != NULL, &is_template, err) < 0 ||
            (!is_template && check_image_name(api, name, place, err) < 0))
            return -1;
        if (is_template && count > 1) {
            error_set(err, ERR_INVALID_REQUEST,
                      "%.128s is a template. If stages copy from each other or from an image, each "
                      "stage must begin with an image.",
                      name);
            put_place(*err, place);
            return -1;
        }
    }
    if (is_template)
        origin->template = name;
    else
        origin->image.name = name;
    if (count > 1)
        add_stages(api, plan, origin, stages);
    return 0;
}

void template_dockerfile_locate(const struct dockerfile_plan *plan, struct error *error)
{
    uint64_t number;
    if (!error->field || !str_starts_with(error->field, "/steps/"))
        return;
    const char *digits = error->field + strlen("/steps/");
    autofree char *text = xstrndup(digits, strcspn(digits, "/"));
    if (str_parse_u64(text, 0, DOCKERFILE_STEPS_MAX, &number) < 0)
        return;
    const json_t *step = json_array_get(plan->steps, (size_t)number);
    put_line(error, json_object_get(step, "line"), NULL);
}
