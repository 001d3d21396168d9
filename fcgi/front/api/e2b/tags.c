/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tags of templates. In E2B's API every template has the tag `default`. */
#include <stdlib.h>

#include "api/e2b/e2b.h"
#include "base/mem.h"
#include "base/str.h"

/* Add `default` for the newest ready version, unless the team has assigned the tag. */
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
            list, e2b_tag_to_json(TEMPLATE_TAG_DEFAULT, version->id, version->finished_at_ms));
        return;
    }
}

/* List the tags of snapshots when no template has the name. */
static int list_snapshots(struct api *api, const char *name, struct http_response *response,
                          struct error **err)
{
    json_auto_t *list = json_array();
    error_auto missing = NULL;
    error_move(&missing, err);
    if (missing->code == ERR_NOT_FOUND && e2b_snapshots_tags(api, name, list, err) < 0)
        return -1;
    if (json_array_size(list) == 0)
        return error_move(err, &missing);
    return http_response_json(response, 200, json_incref(list));
}

int e2b_tags_list(void *context, struct http_request *request, struct http_response *response,
                  struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    json_auto_t *list = json_array();
    unsigned at;
    if (e2b_template_find(api, request->captures[0], &view, &at, err) < 0)
        return list_snapshots(api, request->captures[0], response, err);
    if (template_view_read_tags(api, &view, at, err) < 0)
        return -1;
    add_default(&view, at, list);
    for (unsigned i = 0; i < view.tag_count; i++) {
        const struct template_tag *tag = &view.tags[i];
        json_array_append_new(list,
                              e2b_tag_to_json(tag->tag, tag->version_id, tag->assigned_at_ms));
    }
    return http_response_json(response, 200, json_incref(list));
}

/* The tags of a body, borrowed from it. The schema has checked their number. */
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
    json_t *tags = json_object_get(request->json, "tags");
    autofree char *target = NULL;
    if (e2b_read_tags(tags, "tags", err) < 0 ||
        e2b_template_of(api, json_string_value(json_object_get(request->json, "target")), &target,
                        err) < 0)
        return -1;
    struct names names = read_names(request->json);
    if (template_resolve(api->worker.db, api->access.team->id, target, "target", version, err) <
            0 ||
        template_view_check_owner(api, version, err) < 0 ||
        template_tags_assign(api->worker.db, version->template_id, version->id, names.list,
                             names.count, "tags", err) < 0)
        return -1;
    return http_response_json(
        response, 201, json_pack("{s:o, s:O}", "buildID", e2b_build_id(version->id), "tags", tags));
}

/* Remove a tag. For E2B's clients it is no error if the tag is not assigned, but a template always
 * has the tag `default`. */
static int remove_tag(struct api *api, const char *template_id, const char *tag, struct error **err)
{
    error_auto missing = NULL;
    if (template_tags_remove(api->worker.db, template_id, &tag, 1, &missing) == 0)
        return 0;
    if (missing->code != ERR_NOT_FOUND)
        return error_move(err, &missing);
    return !str_equal(tag, TEMPLATE_TAG_DEFAULT)
               ? 0
               : error_set_field(err, ERR_INVALID_REQUEST, "tags",
                                 "The tag default cannot be removed, because it always means the "
                                 "newest build.");
}

int e2b_tags_remove(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    const char *name = json_string_value(json_object_get(request->json, "name"));
    unsigned at;
    if (e2b_read_tags(json_object_get(request->json, "tags"), "tags", err) < 0 ||
        e2b_template_find(api, name, &view, &at, err) < 0 ||
        template_view_check_owner(api, &view.versions[at], err) < 0)
        return -1;
    struct names names = read_names(request->json);
    for (unsigned i = 0; i < names.count; i++)
        if (remove_tag(api, view.versions[at].template_id, names.list[i], err) < 0)
            return -1;
    response->status = 204;
    return 0;
}
