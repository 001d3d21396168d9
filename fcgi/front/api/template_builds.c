/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Create and delete templates and their versions, and show the progress of builds. */
#include <string.h>

#include "api/api.h"
#include "api/network_input.h"
#include "api/sandbox_output.h"
#include "api/template_builds.h"
#include "api/template_dockerfile.h"
#include "api/template_view.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/notify.h"
#include "base/str.h"
#include "host/host.h"
#include "http/schema.h"
#include "recipe/recipe.h"
#include "recipe/recipe_file.h"
#include "recipe/recipe_user.h"
#include "template/template_tag.h"

static int check_slug(const json_t *value, const char *pointer, struct error **err)
{
    if (slug_is_valid(json_string_value(value)))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                           "A template's slug is 1 to %d lower-case letters, digits and hyphens, "
                           "with no hyphen at either end.",
                           SLUG_MAX);
}

static const struct schema_member baseline_members[] = {
    {.name = "cpu", .type = SCHEMA_INTEGER, .min = 1, .max = 1024},
    {.name = "memory_mb", .type = SCHEMA_INTEGER, .min = 1, .max = 16777216},
    {.name = NULL},
};

static const struct schema_member tag_item = {
    .type = SCHEMA_STRING, .min = 1, .max = TEMPLATE_TAG_PLAIN_MAX};

static const struct schema_member registry_members[] = {
    {.name = "user", .type = SCHEMA_STRING, .required = true, .min = 1, .max = REGISTRY_USER_MAX},
    {.name = "password",
     .type = SCHEMA_STRING,
     .required = true,
     .min = 1,
     .max = REGISTRY_PASSWORD_MAX},
    {.name = NULL},
};

#define VERSION_MEMBERS                                                                      \
    {.name = "team", .type = SCHEMA_STRING, .min = 1, .max = SLUG_MAX},                      \
        {.name = "checkpoint_id", .type = SCHEMA_STRING, .min = 1, .max = 128},              \
        {.name = "image", .type = SCHEMA_STRING, .min = 1, .max = 255},                      \
        {.name = "from_image", .type = SCHEMA_STRING, .min = 1, .max = IMAGE_NAME_MAX},      \
        {.name = "registry_login", .type = SCHEMA_OBJECT, .members = registry_members},      \
        {.name = "template", .type = SCHEMA_STRING, .min = 1, .max = 191}, RECIPE_MEMBERS,   \
        TEMPLATE_DOCKERFILE_MEMBERS,                                                         \
        {.name = "tags", .type = SCHEMA_ARRAY, .max = TEMPLATE_TAGS_MAX, .item = &tag_item}, \
    {                                                                                        \
        .name = "runtime_baseline", .type = SCHEMA_OBJECT, .members = baseline_members       \
    }

const struct schema_member template_create_schema[] = {
    {.name = "slug", .type = SCHEMA_STRING, .required = true, .check = check_slug},
    VERSION_MEMBERS,
    {.name = NULL},
};

const struct schema_member template_version_create_schema[] = {
    VERSION_MEMBERS,
    {.name = "retry", .type = SCHEMA_INTEGER, .min = 1, .max = UINT32_MAX},
    {.name = NULL},
};

/* --- the body of a request --- */

static int no_checkpoint(struct error **err)
{
    return error_set_field(err, ERR_INVALID_REQUEST, "/checkpoint_id",
                           "The team has no checkpoint of this id or name.");
}

/* Find the checkpoint by its id or name, and note its id: a newer version may get the name. */
static int find_checkpoint(struct api *api, struct template_order *order,
                           struct template_request *wanted, struct checkpoint *checkpoint,
                           struct error **err)
{
    if (checkpoint_resolve(api->worker.db, api->access.team, wanted->checkpoint_id, checkpoint,
                           err) < 0)
        return error_clear_if(err, ERR_NOT_FOUND) ? no_checkpoint(err) : -1;
    snprintf(order->checkpoint_id, ID_SIZE, "%s", checkpoint->id);
    wanted->checkpoint_id = order->checkpoint_id;
    return 0;
}

/* Check that the operator has allowed the image. Hosts unpack it, an image may have any content,
 * and its name does not prove its author. */
static int check_image(struct api *api, const char *image, struct error **err)
{
    bool allowed;
    if (template_image_is_allowed(api->worker.db, image, &allowed, err) < 0)
        return -1;
    if (allowed)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "/image",
                           "Teams may not use an image with this name; the operator allows one "
                           "with `sandlotctl image allow`.");
}

int template_builds_baseline(struct api *api, const json_t *body,
                             const struct checkpoint *checkpoint, struct template_request *wanted,
                             struct error **err)
{
    const json_t *baseline = json_object_get(body, "runtime_baseline");
    const json_t *cpu = json_object_get(baseline, "cpu");
    const json_t *memory_mb = json_object_get(baseline, "memory_mb");
    bool copied = wanted->checkpoint_id != NULL;
    struct plan plan;
    if (plan_get(api->worker.db, api->access.team->plan, &plan, err) < 0)
        return -1;
    wanted->cpu = copied ? checkpoint->cpu : plan.cpu_default;
    wanted->memory_mb = copied ? checkpoint->memory_mb : plan.memory_mb_default;
    if (cpu)
        wanted->cpu = (uint32_t)json_integer_value(cpu);
    if (memory_mb)
        wanted->memory_mb = (uint32_t)json_integer_value(memory_mb);
    /* Sandboxes of the plan run in their template's size, so the plan must allow the size. */
    if (plan_check_cpu(&plan, wanted->cpu, "/runtime_baseline/cpu", err) < 0)
        return -1;
    if (plan_check_memory(&plan, wanted->memory_mb, "/runtime_baseline/memory_mb", err) < 0)
        return -1;
    return host_check_size(api->worker.db, wanted->cpu, wanted->memory_mb,
                           cpu || !memory_mb ? "/runtime_baseline/cpu" : NULL,
                           memory_mb ? "/runtime_baseline/memory_mb" : NULL, err);
}

/* Return the members of a body with steps, without its base. */
static json_t *read_recipe(const json_t *body)
{
    static const char *const members[] = {
        "steps", "start_command", "ready_command", "start_image_command", "no_cache", "services"};
    json_t *recipe = json_object();
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        if (json_object_get(body, members[i]))
            json_object_set(recipe, members[i], json_object_get(body, members[i]));
    return recipe;
}

/* Refuse members that go with other sources. The list ends with NULL. */
static int refuse_members(const json_t *body, const char *const members[], const char *source,
                          struct error **err)
{
    for (; *members; members++) {
        autofree char *field = xasprintf("/%s", *members);
        if (json_object_get(body, *members))
            return error_set_field(err, ERR_INVALID_REQUEST, field,
                                   "Only a build with %s can have this member.", source);
    }
    return 0;
}

/* Check the members besides the source. */
static int check_members(const json_t *body, const char *origin, struct error **err)
{
    static const char *const of_steps[] = {"steps", NULL};
    static const char *const of_builds[] = {"start_command",
                                            "ready_command",
                                            "start_image_command",
                                            "no_cache",
                                            "tags",
                                            "services",
                                            NULL};
    static const char *const of_images[] = {"registry_login", NULL};
    static const char *const of_dockerfiles[] = {"context", "build_args", "secrets", "target",
                                                 NULL};
    bool dockerfile = str_equal(origin, "/dockerfile");
    bool image = str_equal(origin, "/from_image"), template = str_equal(origin, "/template");
    if (!dockerfile && refuse_members(body, of_dockerfiles, "dockerfile", err) < 0)
        return -1;
    if (!dockerfile && !image &&
        refuse_members(body, of_images, "from_image or dockerfile", err) < 0)
        return -1;
    if (!image && !template && refuse_members(body, of_steps, "template or from_image", err) < 0)
        return -1;
    return dockerfile || image || template
               ? 0
               : refuse_members(body, of_builds, "template, from_image or dockerfile", err);
}

static int check_origins(const json_t *body, struct error **err)
{
    static const char *const members[] = {"/checkpoint_id", "/image",      "/template",
                                          "/from_image",    "/dockerfile", "/retry"};
    const char *given = NULL;
    unsigned count = 0;
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        if (json_object_get(body, members[i] + 1)) {
            given = members[i];
            count++;
        }
    if (count != 1)
        return error_set_field(
            err, ERR_INVALID_REQUEST, given ? given : members[0],
            "Give exactly one source of the template: checkpoint_id, image, template, from_image "
            "or dockerfile. A build of another version can have retry instead.");
    return check_members(body, given, err);
}

/* --- builds by steps --- */

/* The template of builders is the deployment's, and not one of the team with the same slug. */
static int find_builder(struct api *api, struct template_version *base, struct error **err)
{
    const char *named = api->settings->image_builder_template;
    const char *name = *named ? named : api->settings->default_template;
    if (template_resolve(api->worker.db, TEAM_DEPLOYMENT_ID, name, "", base, err) < 0) {
        if (!error_clear_if(err, ERR_TEMPLATE_NOT_FOUND))
            return -1;
        return error_set(err, ERR_NOT_SERVED,
                         "This deployment lacks the template %s, which builds from images need; "
                         "tell the operator.",
                         name);
    }
    if (!base->virtual_machine)
        return 0;
    return error_set(err, ERR_NOT_SERVED,
                     "Builds from images need containers, and the deployment's template %s is for "
                     "virtual machines; tell the operator.",
                     name);
}

static int add_bases(struct api *api, const struct template_origin *origin, const json_t *recipe,
                     struct template_order *order, struct error **err)
{
    return origin->stages
               ? recipe_image_add_bases(api->settings, origin->stages, origin->stage_count, recipe,
                                        &order->recipe, err)
               : recipe_image_add(api->settings, &origin->image, recipe, &order->recipe, err);
}

/* Several stages may begin with one template and with images. */
static int order_image(struct api *api, const struct template_origin *origin, const json_t *recipe,
                       struct template_order *order, struct error **err)
{
    order->image = origin->image.name;
    if (add_bases(api, origin, recipe, order, err) == 0 &&
        (origin->template ? template_resolve(api->worker.db, api->access.team->id, origin->template,
                                             origin->field, &order->base, err)
                          : find_builder(api, &order->base, err)) == 0)
        return 0;
    if ((*err)->code == ERR_INVALID_REQUEST || (*err)->code == ERR_NOT_SERVED) {
        free((*err)->field);
        (*err)->field = xstrdup(origin->field);
    }
    return -1;
}

static int order_template(struct api *api, const struct template_origin *origin,
                          const json_t *recipe, struct template_order *order, struct error **err)
{
    order->recipe = recipe_on_template(recipe);
    return template_resolve(api->worker.db, api->access.team->id, origin->template, origin->field,
                            &order->base, err);
}

/* A login is for a registry, and stages copy from images. */
static int find_image_template(const struct api *api, const struct template_origin *origin,
                               char **template, struct error **err)
{
    *template = NULL;
    return origin->template || origin->stages || origin->image.user
               ? 0
               : image_reference_template(api->settings, origin->image.name, template, err);
}

int template_builds_order(struct api *api, const struct template_origin *origin,
                          const json_t *recipe, struct template_order *order, struct error **err)
{
    struct template_origin found = *origin;
    autofree char *template = NULL;
    *order = (struct template_order){.api = api};
    if (find_image_template(api, origin, &template, err) < 0)
        return -1;
    if (template)
        found.template = template;
    if (recipe_check(api->worker.db, api->access.team->id, recipe, err) < 0 ||
        (found.template && !found.stages ? order_template(api, &found, recipe, order, err)
                                         : order_image(api, origin, recipe, order, err)) < 0)
        return -1;
    return network_input_read(api, NULL, NULL, &order->network, err);
}

int template_builds_begin(struct db *db, const char *version_id, void *context, struct error **err)
{
    const struct template_order *order = context;
    const struct recipe_order said = {.version_id = version_id,
                                      .base = &order->base,
                                      .image = order->image,
                                      .recipe = order->recipe,
                                      .network = order->network};
    return recipe_begin(db, order->api->worker.ring, &said, err);
}

static int claim_steps(struct db *db, const char *version_id, void *context, struct error **err)
{
    const struct template_order *order = context;
    struct api *api = order->api;
    const struct recipe_owner owner = {api->access.team->id, api->principal.user_id, order->tags};
    if (recipe_open(db, version_id, &owner, err) < 0 ||
        template_builds_begin(db, version_id, context, err) < 0)
        return -1;
    return api_claim(db, version_id, api, err);
}

static struct template_origin origin_of(const json_t *body)
{
    const json_t *login = json_object_get(body, "registry_login");
    struct template_origin origin = {
        .template = json_string_value(json_object_get(body, "template")),
        .image = {.name = json_string_value(json_object_get(body, "from_image")),
                  .user = json_string_value(json_object_get(login, "user")),
                  .password = json_string_value(json_object_get(login, "password"))},
    };
    origin.field = origin.template ? "/template" : "/from_image";
    return origin;
}

static int order_dockerfile(struct api *api, const json_t *body, json_t *recipe,
                            struct template_order *order, struct error **err)
{
    struct template_origin origin = origin_of(body);
    struct recipe_image stages[DOCKERFILE_STAGES_MAX];
    struct dockerfile_plan plan;
    int result = template_dockerfile_plan(api, body, &plan, err);
    if (result == 0) {
        recipe_dockerfile_add(recipe, &plan, json_object_get(body, "secrets"));
        result = template_dockerfile_origin(api, &plan, &origin, stages, err);
    }
    if (result == 0)
        result = template_builds_order(api, &origin, recipe, order, err);
    if (result < 0)
        template_dockerfile_locate(&plan, *err);
    else
        result = template_dockerfile_note(api, &plan, &origin, order, err);
    /* The version names its image. */
    if (order->image)
        order->image = order->image_name = xstrdup(order->image);
    dockerfile_plan_deinit(&plan);
    return result;
}

static int read_steps(struct api *api, const json_t *body, struct template_order *order,
                      struct error **err)
{
    json_t *tags = json_object_get(body, "tags");
    const struct template_origin origin = origin_of(body);
    json_auto_t *recipe = read_recipe(body);
    if ((json_object_get(body, "dockerfile")
             ? order_dockerfile(api, body, recipe, order, err)
             : template_builds_order(api, &origin, recipe, order, err)) < 0 ||
        recipe_check_tags(tags, "/tags", err) < 0)
        return -1;
    order->tags = json_incref(tags);
    return 0;
}

/* --- a failed build again --- */

/* Find a version by its number or id. */
static int find_version(struct api *api, const char *slug, const char *name,
                        struct template_view *view, const struct template_version **version,
                        struct error **err)
{
    uint64_t number = 0;
    unsigned at;
    if (template_view_find(api, slug, view, &at, err) < 0)
        return -1;
    if (!id_is_valid("tpv_", name) && str_parse_u64(name, 1, UINT32_MAX, &number) < 0)
        return error_set(err, ERR_NOT_FOUND, "There is no such template version.");
    for (unsigned i = at; i < view->count && template_view_same(view, i, at); i++) {
        *version = &view->versions[i];
        if (number ? (*version)->version == number : str_equal((*version)->id, name))
            return 0;
    }
    return error_set(err, ERR_NOT_FOUND, "There is no such template version.");
}

static int refuse_retry(struct error **err, const char *reason)
{
    return error_set_field(err, ERR_INVALID_REQUEST, "/retry", "%s", reason);
}

static int find_failed(struct api *api, const char *slug, json_int_t number,
                       struct template_version *failed, struct error **err)
{
    template_view_auto view = {0};
    const struct template_version *version;
    autofree char *name = xasprintf("%lld", (long long)number);
    if (find_version(api, slug, name, &view, &version, err) < 0) {
        if (!error_clear_if(err, ERR_NOT_FOUND))
            return -1;
        return refuse_retry(err, "The template has no version with this number.");
    }
    if (!str_equal(version->owner, api->access.team->id) || version->state != TEMPLATE_FAILED)
        return refuse_retry(err, "You can repeat only a failed build of the team.");
    *failed = *version;
    return 0;
}

static int check_files(struct api *api, const json_t *recipe, struct error **err)
{
    size_t at;
    json_t *step;
    json_array_foreach (json_object_get(recipe, "steps"), at, step) {
        const char *hash = json_string_value(json_object_get(step, "files"));
        struct recipe_file file;
        bool found = true;
        if (hash &&
            recipe_file_find(api->worker.db, api->access.team->id, hash, &file, &found, err) < 0)
            return -1;
        if (!found)
            return refuse_retry(err, "The files of this build were deleted, a day after their "
                                     "last use. Build a new version.");
    }
    return 0;
}

/* Return whether the sandbox of a Dockerfile's build began with a template and not with the
 * template of builders. */
static bool begins_with_template(const json_t *recipe)
{
    const json_t *build = json_object_get(recipe, RECIPE_BUILD);
    return json_array_size(json_object_get(build, RECIPE_TEMPLATES));
}

/* The steps begin with the same base. An image is unpacked in the builder of today. */
static int order_again(struct api *api, struct template_order *order, struct error **err)
{
    const struct template_version *failed = &order->failed;
    if (recipe_kept_read(api->worker.db, api->worker.ring, failed->id, &order->recipe, err) < 0)
        return -1;
    if (!order->recipe)
        return refuse_retry(
            err, "The steps of this build are not stored, because it used a registry login or "
                 "secrets, is too large, or is ending now. Build a new version.");
    order->image = *failed->from_image ? failed->from_image : NULL;
    if (check_files(api, order->recipe, err) < 0 ||
        (order->image && !begins_with_template(order->recipe)
             ? find_builder(api, &order->base, err)
             : template_resolve(api->worker.db, failed->owner, failed->base_id, "/retry",
                                &order->base, err)) < 0 ||
        template_tags_wanted(api->worker.db, failed->id, &order->tags, err) < 0)
        return -1;
    return network_input_read(api, NULL, NULL, &order->network, err);
}

/* Return the body with the size of the failed version where it has none. */
static json_t *with_size(const json_t *body, const struct template_version *failed)
{
    json_t *sized = json_copy((json_t *)(uintptr_t)body);
    json_t *baseline = json_pack("{s:I, s:I}", "cpu", (json_int_t)failed->cpu, "memory_mb",
                                 (json_int_t)failed->memory_mb);
    json_object_update(baseline, json_object_get(body, "runtime_baseline"));
    json_object_set_new(sized, "runtime_baseline", baseline);
    return sized;
}

static int read_request(struct api *api, const json_t *body, struct template_order *order,
                        struct template_request *wanted, struct error **err)
{
    const struct team *team = api->access.team;
    const struct template_version *failed = &order->failed;
    const json_t *retry = json_object_get(body, "retry");
    struct checkpoint checkpoint = {.id = ""};
    wanted->checkpoint_id = json_string_value(json_object_get(body, "checkpoint_id"));
    wanted->image = json_string_value(json_object_get(body, "image"));
    wanted->owner = team->id;
    if (check_origins(body, err) < 0 ||
        (retry &&
         find_failed(api, wanted->slug, json_integer_value(retry), &order->failed, err) < 0))
        return -1;
    if (*failed->checkpoint_id)
        wanted->checkpoint_id = failed->checkpoint_id;
    else if (*failed->image)
        wanted->image = failed->image;
    wanted->by_steps = !wanted->checkpoint_id && !wanted->image;
    wanted->claim = wanted->by_steps ? claim_steps : api_claim;
    wanted->claim_context = wanted->by_steps ? (void *)order : api;
    if ((wanted->checkpoint_id ? find_checkpoint(api, order, wanted, &checkpoint, err)
         : wanted->image       ? check_image(api, wanted->image, err)
         : retry               ? order_again(api, order, err)
                               : read_steps(api, body, order, err)) < 0)
        return -1;
    json_auto_t *sized = retry ? with_size(body, failed) : json_incref((json_t *)(uintptr_t)body);
    return template_builds_baseline(api, sized, &checkpoint, wanted, err);
}

/* --- building --- */

static int ask(struct api *api, const struct http_request *request, struct template_request *wanted,
               struct error **err)
{
    struct template_version *version = &api->access.version;
    if (api->access.made)
        return 0;
    struct template_order order = {.api = api};
    int result = read_request(api, request->json, &order, wanted, err);
    if (result == 0)
        result = template_request_build(api->worker.db, wanted, version, err);
    template_order_deinit(&order);
    if (result < 0)
        return -1;
    log_context_set("version", version->id);
    notify_send(api->settings->api_socket, NOTIFY_BUILDS);
    return 0;
}

int templates_create(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    struct api *api = context;
    struct template_request wanted = {
        .slug = json_string_value(json_object_get(request->json, "slug")),
        .new_template = true,
    };
    if (ask(api, request, &wanted, err) < 0)
        return -1;
    struct template_view view = {.versions = &api->access.version, .count = 1};
    json_t *body = template_view_at(&view, 0);
    json_object_set_new(body, "version", template_version_to_json(&api->access.version, NULL, 0));
    return http_response_json(response, 201, body);
}

int template_versions_create(void *context, struct http_request *request,
                             struct http_response *response, struct error **err)
{
    struct api *api = context;
    struct template_request wanted = {.slug = request->captures[0]};
    if (!template_slug_is_valid(wanted.slug))
        return error_set(err, ERR_NOT_FOUND, "There is no such template.");
    if (ask(api, request, &wanted, err) < 0)
        return -1;
    return http_response_json(response, 201,
                              template_version_to_json(&api->access.version, NULL, 0));
}

/* --- one version --- */

/* Add the log from an offset in bytes on. An offset inside a character or behind the end means the
 * next place. */
static void add_log(const struct api *api, const struct template_version *version, const char *log,
                    uint64_t offset, json_t *body)
{
    size_t end = principal_reaches(&api->principal, version->owner) ? strlen(log) : 0;
    size_t at = offset < end ? (size_t)offset : end;
    while (at < end && (log[at] & 0xc0) == 0x80)
        at++;
    json_object_set_new(body, "log", json_stringn(log + at, end - at));
    json_object_set_new(body, "log_end", json_integer((json_int_t)end));
}

/* Add the origin of a version. Users of other teams do not see it. */
static void add_origin(const struct api *api, const struct template_version *version,
                       json_t *image_config, json_t *steps, json_t *body)
{
    /* The template of builders is no base: the version has none of its files. */
    const char *base = *version->from_image ? "" : version->base_id;
    bool own = principal_reaches(&api->principal, version->owner);
    json_object_set_new(body, "checkpoint_id", text_to_json(own ? version->checkpoint_id : ""));
    json_object_set_new(body, "image", text_to_json(own ? version->image : ""));
    json_object_set_new(body, "from_image", text_to_json(own ? version->from_image : ""));
    json_object_set_new(body, "image_config",
                        own && image_config ? json_incref(image_config) : json_null());
    json_object_set_new(body, "base_version", text_to_json(own ? base : ""));
    json_object_set_new(body, "finished_at", time_to_json(version->finished_at_ms));
    json_object_set_new(body, "steps", own ? json_incref(steps) : json_array());
}

int template_versions_show(void *context, struct http_request *request,
                           struct http_response *response, struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    const struct template_version *version;
    autofree char *log = NULL;
    json_auto_t *image_config = NULL, *steps = NULL;
    const char *given = http_query(request, "log_offset");
    uint64_t offset = 0;
    if (given && str_parse_u64(given, 0, INT64_MAX, &offset) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "log_offset",
                               "log_offset must be 0 or the log_end of an earlier answer.");
    if (find_version(api, request->captures[0], request->captures[1], &view, &version, err) < 0 ||
        template_view_read_tags(api, &view, (unsigned)(version - view.versions), err) < 0 ||
        template_version_log(api->worker.db, version->id, &log, err) < 0 ||
        template_version_image(api->worker.db, version->id, &image_config, err) < 0 ||
        recipe_steps_read(api->worker.db, version, &steps, err) < 0)
        return -1;
    json_t *body = template_version_to_json(version, view.tags, view.tag_count);
    add_origin(api, version, image_config, steps, body);
    add_log(api, version, log, offset, body);
    return http_response_json(response, 200, body);
}

/* --- delete --- */

int templates_delete(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    unsigned at;
    if (template_view_find(api, request->captures[0], &view, &at, err) < 0 ||
        template_view_check_owner(api, &view.versions[at], err) < 0 ||
        template_delete(api->worker.db, view.versions[at].template_id, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}

int template_versions_delete(void *context, struct http_request *request,
                             struct http_response *response, struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    const struct template_version *version;
    if (find_version(api, request->captures[0], request->captures[1], &view, &version, err) < 0 ||
        template_view_check_owner(api, version, err) < 0 ||
        template_version_delete(api->worker.db, version->id, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}
