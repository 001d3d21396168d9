/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tags of templates: with them every template has the tag `default`. */
#include <stdlib.h>

#include "api/e2b/e2b.h"
#include "api/sandbox_output.h"
#include "api/template_view.h"
#include "base/mem.h"
#include "base/str.h"

static json_t *tag_to_json(const char *tag, const char *version_id, int64_t at_ms)
{
    return json_pack("{s:s, s:s, s:o}", "tag", tag, "buildID", version_id, "createdAt",
                     time_to_json(at_ms));
}

/* As long as nobody assigned it, `default` is the newest version that is ready. */
static void add_default(const struct template_view *view, unsigned at, json_t *list)
{
    for (unsigned i = 0; i < view->tag_count; i++)
        if (str_equal(view->tags[i].tag, TEMPLATE_TAG_DEFAULT))
            return;
    for (unsigned i = at; i < view->count && template_view_same(view, i, at); i++) {
        const struct template_version *version = &view->versions[i];
        if (version->state != TEMPLATE_READY)
            continue;
        json_array_append_new(
            list, tag_to_json(TEMPLATE_TAG_DEFAULT, version->id, version->finished_at_ms));
        return;
    }
}

int e2b_tags_list(void *context, struct http_request *request, struct http_response *response,
                  struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    unsigned at;
    if (template_view_find(api, request->captures[0], &view, &at, err) < 0 ||
        template_view_read_tags(api, &view, at, err) < 0)
        return -1;
    json_t *list = json_array();
    add_default(&view, at, list);
    for (unsigned i = 0; i < view.tag_count; i++) {
        const struct template_tag *tag = &view.tags[i];
        json_array_append_new(list, tag_to_json(tag->tag, tag->version_id, tag->assigned_at_ms));
    }
    return http_response_json(response, 200, list);
}

/* The tags of a body, whose bound the schema has checked; borrowed from it. */
struct names {
    const char *list[TEMPLATE_TAGS_MAX];
    unsigned count;
};

static struct names read_names(const json_t *body)
{
    const json_t *tags = json_object_get(body, "tags");
    struct names names = {.count = (unsigned)json_array_size(tags)};
    for (unsigned i = 0; i < names.count; i++)
        names.list[i] = json_string_value(json_array_get(tags, i));
    return names;
}

int e2b_tags_assign(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    struct template_version *version = &api->access.version;
    struct names names = read_names(request->json);
    autofree char *target =
        e2b_template_reference(json_string_value(json_object_get(request->json, "target")));
    if (template_resolve(api->worker.db, api->access.team->id, target, "target", version, err) <
            0 ||
        template_view_check_owner(api, version, err) < 0 ||
        template_tags_assign(api->worker.db, version->template_id, version->id, names.list,
                             names.count, "tags", err) < 0)
        return -1;
    return http_response_json(response, 201,
                              json_pack("{s:s, s:O}", "buildID", version->id, "tags",
                                        json_object_get(request->json, "tags")));
}

int e2b_tags_remove(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    struct names names = read_names(request->json);
    const char *name = json_string_value(json_object_get(request->json, "name"));
    unsigned at;
    if (template_view_find(api, name, &view, &at, err) < 0 ||
        template_view_check_owner(api, &view.versions[at], err) < 0 ||
        template_tags_remove(api->worker.db, view.versions[at].template_id, names.list, names.count,
                             err) < 0)
        return -1;
    response->status = 204;
    return 0;
}
