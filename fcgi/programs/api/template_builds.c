/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking for templates and versions of them, how their builds go, and their end. */
#include <string.h>

#include "api/api.h"
#include "api/sandbox_output.h"
#include "api/template_view.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/schema.h"

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

#define VERSION_MEMBERS                                                                \
    {.name = "team", .type = SCHEMA_STRING, .min = 1, .max = SLUG_MAX},                \
        {.name = "checkpoint_id", .type = SCHEMA_STRING, .min = 1, .max = 128},        \
        {.name = "image", .type = SCHEMA_STRING, .min = 1, .max = 255},                \
    {                                                                                  \
        .name = "runtime_baseline", .type = SCHEMA_OBJECT, .members = baseline_members \
    }

const struct schema_member template_create_schema[] = {
    {.name = "slug", .type = SCHEMA_STRING, .required = true, .check = check_slug},
    VERSION_MEMBERS,
    {.name = NULL},
};

const struct schema_member template_version_create_schema[] = {
    VERSION_MEMBERS,
    {.name = NULL},
};

/* --- what is asked for --- */

static int no_checkpoint(struct error **err)
{
    return error_set_field(err, ERR_INVALID_REQUEST, "/checkpoint_id",
                           "The team has no checkpoint of this id.");
}

static int find_checkpoint(struct api *api, const struct team *team, const char *id,
                           struct checkpoint *checkpoint, struct error **err)
{
    if (!id_is_valid("ckp_", id))
        return no_checkpoint(err);
    if (checkpoint_get(api->worker.db, id, checkpoint, err) < 0) {
        if ((*err)->code != ERR_NOT_FOUND)
            return -1;
        error_clear(err);
        return no_checkpoint(err);
    }
    return strcmp(checkpoint->team_id, team->id) ? no_checkpoint(err) : 0;
}

/* The operator says what may be unpacked on the hosts: an image may be of any kind, and a name
 * says nothing of who made it. */
static int check_image(struct api *api, const char *image, struct error **err)
{
    bool allowed;
    if (template_image_is_allowed(api->worker.db, image, &allowed, err) < 0)
        return -1;
    if (allowed)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "/image",
                           "No image of this name is open to teams; the operator opens one with "
                           "`sandlotctl image allow`.");
}

static int read_baseline(struct api *api, const json_t *body, const struct team *team,
                         const struct checkpoint *checkpoint, struct template_request *wanted,
                         struct error **err)
{
    const json_t *baseline = json_object_get(body, "runtime_baseline");
    const json_t *cpu = json_object_get(baseline, "cpu");
    const json_t *memory_mb = json_object_get(baseline, "memory_mb");
    bool copied = wanted->checkpoint_id != NULL;
    struct plan plan;
    if (plan_get(api->worker.db, team->plan, &plan, err) < 0)
        return -1;
    wanted->cpu = copied ? checkpoint->cpu : plan.cpu_default;
    wanted->memory_mb = copied ? checkpoint->memory_mb : plan.memory_mb_default;
    if (cpu)
        wanted->cpu = (uint32_t)json_integer_value(cpu);
    if (memory_mb)
        wanted->memory_mb = (uint32_t)json_integer_value(memory_mb);
    /* Sandboxes of the plan run in the size of their template, so they must be allowed to. */
    if (plan_check_cpu(&plan, wanted->cpu, "/runtime_baseline/cpu", err) < 0)
        return -1;
    return plan_check_memory(&plan, wanted->memory_mb, "/runtime_baseline/memory_mb", err);
}

static int read_request(struct api *api, const json_t *body, struct template_request *wanted,
                        struct error **err)
{
    const char *team_slug = json_string_value(json_object_get(body, "team"));
    const struct team *team;
    struct checkpoint checkpoint = {.id = ""};
    wanted->checkpoint_id = json_string_value(json_object_get(body, "checkpoint_id"));
    wanted->image = json_string_value(json_object_get(body, "image"));
    wanted->claim = api->idempotency ? api_claim : NULL;
    wanted->claim_context = (void *)api->idempotency;
    if (principal_team(&api->principal, team_slug, "/team", &team, err) < 0)
        return -1;
    wanted->owner = team->id;
    if (!wanted->checkpoint_id == !wanted->image)
        return error_set_field(err, ERR_INVALID_REQUEST,
                               wanted->image ? "/image" : "/checkpoint_id",
                               "Give one of checkpoint_id and image: what the template is built "
                               "from.");
    if (wanted->checkpoint_id
            ? find_checkpoint(api, team, wanted->checkpoint_id, &checkpoint, err) < 0
            : check_image(api, wanted->image, err) < 0)
        return -1;
    return read_baseline(api, body, team, &checkpoint, wanted, err);
}

/* --- building --- */

/* What an earlier attempt with the same Idempotency-Key made; id "": nothing. */
static int find_earlier(struct api *api, struct template_version *version, struct error **err)
{
    error_auto gone = NULL;
    *version = (struct template_version){.id = ""};
    if (!api->idempotency || !id_is_valid("tpv_", api->idempotency->sandbox_id))
        return 0;
    if (template_version_get(api->worker.db, api->idempotency->sandbox_id, version, &gone) == 0 ||
        gone->code == ERR_NOT_FOUND)
        return 0;
    return error_move(err, &gone);
}

static int ask(struct api *api, const struct http_request *request, struct template_request *wanted,
               struct template_version *version, struct error **err)
{
    if (find_earlier(api, version, err) < 0)
        return -1;
    if (version->id[0])
        return 0;
    if (read_request(api, request->json, wanted, err) < 0 ||
        template_request_build(api->worker.db, wanted, version, err) < 0)
        return -1;
    log_context_set("version", version->id);
    return 0;
}

int templates_create(void *context, const struct route *route, struct http_request *request,
                     struct http_response *response, struct error **err)
{
    struct api *api = context;
    struct template_version version;
    struct template_request wanted = {
        .slug = json_string_value(json_object_get(request->json, "slug")),
        .new_template = true,
    };
    (void)route;
    if (ask(api, request, &wanted, &version, err) < 0)
        return -1;
    struct template_view view = {.versions = &version, .count = 1};
    json_t *body = template_view_at(api, &view, 0);
    json_object_set_new(body, "version", template_version_to_json(&version));
    return http_response_json(response, 201, body);
}

int template_versions_create(void *context, const struct route *route, struct http_request *request,
                             struct http_response *response, struct error **err)
{
    struct template_version version;
    struct template_request wanted = {.slug = request->captures[0]};
    (void)route;
    if (!slug_is_valid(wanted.slug))
        return error_set(err, ERR_NOT_FOUND, "There is no such template.");
    if (ask(context, request, &wanted, &version, err) < 0)
        return -1;
    return http_response_json(response, 201, template_version_to_json(&version));
}

/* --- one version --- */

/* By its number or id. */
static int find_version(struct api *api, const struct http_request *request,
                        struct template_view *view, const struct template_version **version,
                        struct error **err)
{
    const char *name = request->captures[1];
    uint64_t number = 0;
    unsigned at;
    if (template_view_find(api, request, view, &at, err) < 0)
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

int template_versions_show(void *context, const struct route *route, struct http_request *request,
                           struct http_response *response, struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    const struct template_version *version;
    autofree char *log = NULL;
    (void)route;
    if (find_version(api, request, &view, &version, err) < 0 ||
        template_version_log(api->worker.db, version->id, &log, err) < 0)
        return -1;
    json_t *body = template_version_to_json(version);
    json_object_set_new(body, "checkpoint_id", text_to_json(version->checkpoint_id));
    /* What the deployment's own are made of is not for everybody. */
    json_object_set_new(body, "image", text_to_json(*version->owner ? version->image : ""));
    json_object_set_new(body, "finished_at", time_to_json(version->finished_at_ms));
    json_object_set_new(body, "log", json_string(log));
    return http_response_json(response, 200, body);
}

/* --- the end --- */

static int check_owner(const struct template_version *version, struct error **err)
{
    if (*version->owner)
        return 0;
    return error_set(err, ERR_TEAM_FORBIDDEN,
                     "This template belongs to the deployment; its operator deletes it.");
}

int templates_delete(void *context, const struct route *route, struct http_request *request,
                     struct http_response *response, struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    unsigned at;
    (void)route;
    if (template_view_find(api, request, &view, &at, err) < 0 ||
        check_owner(&view.versions[at], err) < 0 ||
        template_delete(api->worker.db, view.versions[at].template_id, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}

int template_versions_delete(void *context, const struct route *route, struct http_request *request,
                             struct http_response *response, struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    const struct template_version *version;
    (void)route;
    if (find_version(api, request, &view, &version, err) < 0 || check_owner(version, err) < 0 ||
        template_version_delete(api->worker.db, version->id, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}
