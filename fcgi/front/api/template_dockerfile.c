/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/template_dockerfile.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/mem.h"
#include "base/str.h"
#include "recipe/recipe.h"
#include "recipe/recipe_file.h"

#define FAMILY_MAX 32 /* templates that are made from each other */

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

/* Find the version of a template. *is_template false: the name is that of an image. */
static int find_base(struct api *api, const char *name, bool has_login,
                     struct template_version *version, bool *is_template, struct error **err)
{
    error_auto missing = NULL;
    bool is_building;
    *is_template = false;
    /* A login is for a registry. */
    if (image_reference_has_registry(name) || image_is_empty(name) || has_login)
        return 0;
    *is_template = template_resolve(api->worker.db, api->access.team->id, name, DOCKERFILE_FIELD,
                                    version, &missing) == 0;
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

/* A build of several stages has one sandbox, so it can begin with one template. */
struct bases {
    struct recipe_image *stages;
    size_t first; /* the first template, when there is one */
    bool has_template, has_image;
    struct template_version version; /* of the template */
};

/* Return whether a template was made from an image, also through other templates. Then it has no
 * program that fetches images. */
static int comes_from_image(struct api *api, const struct template_version *version, bool *comes,
                            struct error **err)
{
    struct template_version one = *version;
    for (unsigned i = 0; i < FAMILY_MAX && !*one.from_image && *one.base_id; i++) {
        error_auto gone = NULL;
        autofree char *base = xstrdup(one.base_id);
        if (template_version_get(api->worker.db, base, &one, &gone) == 0)
            continue;
        if (gone->code != ERR_NOT_FOUND)
            return error_move(err, &gone);
        break;
    }
    *comes = *one.from_image;
    return 0;
}

static int refuse_base(const json_t *place, struct error *error)
{
    put_place(error, place);
    return -1;
}

static int check_template(const struct dockerfile_plan *plan, const struct bases *bases, size_t at,
                          const struct template_version *version, struct error **err)
{
    const char *name = json_string_value(json_array_get(plan->bases, at));
    const json_t *place = json_array_get(plan->places, at);
    if (version->virtual_machine)
        error_set(
            err, ERR_INVALID_REQUEST,
            "%.128s is a template of virtual machines. If stages copy from each other or from "
            "an image, begin each stage with an image or with a template of containers.",
            name);
    else if (bases->has_template && !str_equal(bases->version.id, version->id))
        error_set(
            err, ERR_INVALID_REQUEST,
            "%.128s is another template than %.128s. If stages copy from each other, only one "
            "template can be among their bases: begin this stage with an image, such as "
            "docker.io/library/%.64s.",
            name, json_string_value(json_array_get(plan->bases, bases->first)), name);
    else
        return 0;
    return refuse_base(place, *err);
}

static int check_mixture(struct api *api, const struct dockerfile_plan *plan,
                         const struct bases *bases, struct error **err)
{
    const char *name = json_string_value(json_array_get(plan->bases, bases->first));
    bool comes = false;
    if (!bases->has_template || !bases->has_image)
        return 0;
    if (comes_from_image(api, &bases->version, &comes, err) < 0)
        return -1;
    if (!comes)
        return 0;
    error_set(err, ERR_INVALID_REQUEST,
              "The template %.128s was built from an image, and cannot fetch other images. Begin "
              "this stage with the image itself, or begin all stages with the template.",
              name);
    return refuse_base(json_array_get(plan->places, bases->first), *err);
}

static int add_base(struct api *api, const struct dockerfile_plan *plan, size_t at, bool has_login,
                    struct bases *bases, struct error **err)
{
    const char *name = json_string_value(json_array_get(plan->bases, at));
    struct recipe_image *stage = &bases->stages[at];
    struct template_version version;
    *stage = (struct recipe_image){.name = name};
    if (find_base(api, name, has_login, &version, &stage->is_template, err) < 0)
        return -1;
    if (!stage->is_template) {
        bases->has_image = true;
        return check_image_name(api, name, json_array_get(plan->places, at), err);
    }
    if (json_array_size(plan->bases) > 1 && check_template(plan, bases, at, &version, err) < 0)
        return -1;
    if (!bases->has_template)
        bases->first = at;
    bases->has_template = true;
    bases->version = version;
    return 0;
}

static void add_logins(struct api *api, const struct template_origin *origin,
                       struct recipe_image *stages)
{
    for (size_t i = 0; i < origin->stage_count && origin->image.user; i++) {
        if (!shares_registry(api->settings, stages[i].name, origin->image.name))
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
    struct bases bases = {.stages = stages};
    origin->field = DOCKERFILE_FIELD;
    for (size_t i = 0; i < count; i++)
        if (add_base(api, plan, i, origin->image.user != NULL, &bases, err) < 0)
            return -1;
    if (check_mixture(api, plan, &bases, err) < 0)
        return -1;
    if (bases.has_template)
        origin->template = stages[bases.first].name;
    if (!stages[count - 1].is_template)
        origin->image.name = stages[count - 1].name;
    if (count == 1)
        return 0;
    origin->stages = stages;
    origin->stage_count = count;
    add_logins(api, origin, stages);
    return 0;
}

/* A stage that is not needed now may be needed for ONBUILD of another one. */
static int note_unused(struct api *api, const struct dockerfile_plan *plan,
                       const struct template_origin *origin, const char *base_id,
                       struct error **err)
{
    size_t at;
    json_t *name;
    json_array_foreach (plan->unused, at, name) {
        struct template_version version;
        error_auto ignored = NULL;
        bool is_template = false;
        if (find_base(api, json_string_value(name), origin->image.user != NULL, &version,
                      &is_template, &ignored) < 0 &&
            error_is_transient(ignored))
            return error_move(err, &ignored);
        if (is_template)
            json_array_append(json_object_get(plan->build, str_equal(version.id, base_id)
                                                               ? RECIPE_TEMPLATES
                                                               : RECIPE_OTHER_TEMPLATES),
                              name);
    }
    return 0;
}

int template_dockerfile_note(struct api *api, const struct dockerfile_plan *plan,
                             const struct template_origin *origin,
                             const struct template_order *order, struct error **err)
{
    json_t *names = json_array();
    json_object_set_new(plan->build, RECIPE_TEMPLATES, names);
    json_object_set_new(plan->build, RECIPE_OTHER_TEMPLATES, json_array());
    for (size_t i = 0; i < origin->stage_count; i++)
        if (origin->stages[i].is_template)
            json_array_append_new(names, json_string(origin->stages[i].name));
    /* The operator may give a template for the image of a single stage. */
    if (!origin->stages && !order->image)
        json_array_append(names, json_array_get(plan->bases, 0));
    return note_unused(api, plan, origin, order->base.id, err);
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
