/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tags of template versions, and the visibility of templates. */
#include "api/api.h"
#include "api/sandbox_output.h"
#include "api/template_view.h"
#include "base/str.h"
#include "http/schema.h"

const struct schema_member template_update_schema[] = {
    {.name = "team", .type = SCHEMA_STRING, .min = 1, .max = SLUG_MAX},
    {.name = "public", .type = SCHEMA_BOOLEAN, .required = true},
    {.name = NULL},
};

const struct schema_member template_tag_schema[] = {
    {.name = "team", .type = SCHEMA_STRING, .min = 1, .max = SLUG_MAX},
    {.name = "version", .type = SCHEMA_INTEGER, .required = true, .min = 1, .max = UINT32_MAX},
    {.name = NULL},
};

static json_t *tag_to_json(const struct template_tag *tag)
{
    return json_pack("{s:s, s:I, s:s, s:o}", "tag", tag->tag, "version", (json_int_t)tag->version,
                     "template_version", tag->version_id, "assigned_at",
                     time_to_json(tag->assigned_at_ms));
}

int template_tags_show(void *context, struct http_request *request, struct http_response *response,
                       struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    unsigned at;
    if (template_view_find(api, request->captures[0], &view, &at, err) < 0 ||
        template_view_read_tags(api, &view, at, err) < 0)
        return -1;
    json_t *list = JSON_LIST(view.tags, view.tag_count, tag_to_json);
    return http_response_json(response, 200, json_pack("{s:o}", "tags", list));
}

/* Find the template in the path, which the key must be allowed to change. */
static int find_own(struct api *api, const struct http_request *request, struct template_view *view,
                    unsigned *at, struct error **err)
{
    if (template_view_find(api, request->captures[0], view, at, err) < 0)
        return -1;
    return template_view_check_owner(api, &view->versions[*at], err);
}

static int find_number(const struct template_view *view, unsigned at, json_int_t number,
                       const struct template_version **version, struct error **err)
{
    for (unsigned i = at; i < view->count && template_view_same(view, i, at); i++) {
        *version = &view->versions[i];
        if ((*version)->version == number)
            return 0;
    }
    return error_set_field(err, ERR_INVALID_REQUEST, "/version",
                           "The template has no version %lld.", (long long)number);
}

static int answer_tag(struct api *api, struct template_view *view, unsigned at, const char *name,
                      struct http_response *response, struct error **err)
{
    if (template_view_read_tags(api, view, at, err) < 0)
        return -1;
    for (unsigned i = 0; i < view->tag_count; i++)
        if (str_equal(view->tags[i].tag, name))
            return http_response_json(response, 200, tag_to_json(&view->tags[i]));
    return error_set(err, ERR_NOT_FOUND, "The template has no tag \"%.*s\".", TEMPLATE_TAG_MAX,
                     name);
}

int template_tag_show(void *context, struct http_request *request, struct http_response *response,
                      struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    unsigned at;
    if (template_view_find(api, request->captures[0], &view, &at, err) < 0)
        return -1;
    return answer_tag(api, &view, at, request->captures[1], response, err);
}

int template_tags_put(void *context, struct http_request *request, struct http_response *response,
                      struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    const struct template_version *version = NULL;
    const char *tag = request->captures[1];
    json_int_t number = json_integer_value(json_object_get(request->json, "version"));
    unsigned at;
    if (find_own(api, request, &view, &at, err) < 0 ||
        find_number(&view, at, number, &version, err) < 0 ||
        template_tag_check_plain(tag, "tag", err) < 0 ||
        template_tags_assign(api->worker.db, version->template_id, version->id, &tag, 1, "tag",
                             err) < 0)
        return -1;
    return answer_tag(api, &view, at, tag, response, err);
}

int template_tags_delete(void *context, struct http_request *request,
                         struct http_response *response, struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    const char *tag = request->captures[1];
    unsigned at;
    if (find_own(api, request, &view, &at, err) < 0 ||
        template_tags_remove(api->worker.db, view.versions[at].template_id, &tag, 1, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}

int templates_set_public(struct api *api, const char *name, bool is_public,
                         struct template_view *view, unsigned *at, struct error **err)
{
    if (template_view_find(api, name, view, at, err) < 0)
        return -1;
    const struct template_version *version = &view->versions[*at];
    if (template_view_check_owner(api, version, err) < 0)
        return -1;
    if (template_is_deployments(version) && !is_public)
        return error_set_field(err, ERR_INVALID_REQUEST, "/public",
                               "The templates of the deployment are always public.");
    if (template_set_public(api->worker.db, version->template_id, is_public, err) < 0)
        return -1;
    for (unsigned i = *at; i < view->count && template_view_same(view, i, *at); i++)
        view->versions[i].is_public = is_public;
    return 0;
}

int templates_update(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    bool is_public = json_is_true(json_object_get(request->json, "public"));
    unsigned at;
    if (templates_set_public(api, request->captures[0], is_public, &view, &at, err) < 0)
        return -1;
    return http_response_json(response, 200, template_view_at(&view, at));
}
