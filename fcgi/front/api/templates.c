/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Templates of a key's teams and of the deployment. A team's own template hides the deployment's
 * template with the same slug, as in a create. Public templates of other teams are found by team
 * and name; no list shows them. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/sandbox_output.h"
#include "api/template_view.h"
#include "base/buffer.h"
#include "base/str.h"
#include "template/template.h"

static json_t *size_to_json(const struct template_version *version)
{
    return version && version->size_mb ? json_integer(version->size_mb) : json_null();
}

/* Return a template as JSON. latest: its newest ready version, or NULL. */
static json_t *template_to_json(const struct template_version *version,
                                const struct template_version *latest)
{
    bool is_public = version->is_public || template_is_deployments(version);
    return json_pack(
        "{s:s, s:s, s:s, s:o, s:b, s:o, s:o, s:o}", "id", version->template_id, "team",
        version->team_slug, "slug", version->slug, "name",
        json_sprintf("%s/%s", version->team_slug, version->slug), "public", (int)is_public,
        "latest_version", latest ? json_integer(latest->version) : json_null(), "size_mb",
        size_to_json(latest), "created_at", time_to_json(version->template_created_at_ms));
}

json_t *template_version_to_json(const struct template_version *version,
                                 const struct template_tag *tags, unsigned count)
{
    json_t *names = json_array();
    for (unsigned i = 0; i < count; i++)
        if (str_equal(tags[i].version_id, version->id))
            json_array_append_new(names, json_string(tags[i].tag));
    bool is_known = version->start != TEMPLATE_START_PENDING;
    return json_pack(
        "{s:s, s:s, s:s, s:I, s:s, s:{s:I, s:I}, s:b, s:s, s:o, s:o, s:o, s:o}", "id", version->id,
        "team", version->team_slug, "template", version->slug, "version",
        (json_int_t)version->version, "isolation", template_isolation(version->virtual_machine),
        "runtime_baseline", "cpu", (json_int_t)version->cpu, "memory_mb",
        (json_int_t)version->memory_mb, "net_admin", (int)version->net_admin, "state",
        template_state_names[version->state], "tags", names, "size_mb", size_to_json(version),
        "start", text_to_json(is_known ? template_start_names[version->start] : ""), "created_at",
        time_to_json(version->created_at_ms));
}

void template_view_deinit(struct template_view *view)
{
    free(view->versions);
    free(view->tags);
    *view = (struct template_view){0};
}

#define SLUGS_NAMED_MAX 10 /* in an error */

static int read_view(struct api *api, struct template_view *view, struct error **err)
{
    *view = (struct template_view){.team = api->access.team};
    return template_version_list(api->worker.db, view->team->id, &view->versions, &view->count,
                                 err);
}

bool template_view_same(const struct template_view *view, unsigned a, unsigned b)
{
    return !strcmp(view->versions[a].template_id, view->versions[b].template_id);
}

static bool is_hidden(const struct template_view *view, unsigned at)
{
    for (unsigned i = 0; i < view->count; i++)
        if (!template_is_deployments(&view->versions[i]) &&
            template_is_deployments(&view->versions[at]) &&
            !strcmp(view->versions[i].slug, view->versions[at].slug))
            return true;
    return false;
}

json_t *template_view_at(const struct template_view *view, unsigned at)
{
    const struct template_version *latest = NULL;
    for (unsigned i = at; i < view->count && template_view_same(view, i, at); i++)
        if (!latest && view->versions[i].state == TEMPLATE_READY)
            latest = &view->versions[i];
    return template_to_json(&view->versions[at], latest);
}

int templates_list(void *context, struct http_request *request, struct http_response *response,
                   struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    (void)request;
    if (read_view(api, &view, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (unsigned i = 0; i < view.count; i++)
        if ((i == 0 || !template_view_same(&view, i, i - 1)) && !is_hidden(&view, i))
            json_array_append_new(rows, template_view_at(&view, i));
    return http_response_json(response, 200, json_pack("{s:o}", "templates", rows));
}

static int no_template(const struct template_view *view, struct error **err)
{
    buffer_auto seen = BUFFER_INIT(SLUGS_NAMED_MAX * (SLUG_MAX + 2) + 32);
    unsigned count = 0;
    for (unsigned i = 0; i < view->count && count <= SLUGS_NAMED_MAX; i++) {
        if ((i && template_view_same(view, i, i - 1)) || is_hidden(view, i))
            continue;
        buffer_printf(&seen, "%s%s", count ? ", " : "",
                      count < SLUGS_NAMED_MAX ? view->versions[i].slug : "and others");
        count++;
    }
    return error_set(err, ERR_NOT_FOUND,
                     "The team %s has no template with this slug. It can use: %s.",
                     view->team->slug, count ? buffer_string(&seen) : "none");
}

static int find_by_slug(struct api *api, const char *slug, struct template_view *view, unsigned *at,
                        struct error **err)
{
    if (read_view(api, view, err) < 0)
        return -1;
    for (unsigned i = 0; i < view->count; i++) {
        if (str_equal(view->versions[i].slug, slug) && !is_hidden(view, i)) {
            *at = i;
            return 0;
        }
    }
    return no_template(view, err);
}

/* Find a template by team and name, even if it is hidden or another team's. */
static int find_by_name(struct api *api, const char *team, const char *slug,
                        struct template_view *view, unsigned *at, struct error **err)
{
    *view = (struct template_view){.team = api->access.team};
    *at = 0;
    if (template_version_list_named(api->worker.db, view->team->id, team, slug, &view->versions,
                                    &view->count, err) < 0)
        return -1;
    return view->count ? 0
                       : error_set(err, ERR_NOT_FOUND,
                                   "The team %s cannot use a template %s/%s: it does not exist, or "
                                   "is not public.",
                                   view->team->slug, team, slug);
}

int template_view_find(struct api *api, const char *name, struct template_view *view, unsigned *at,
                       struct error **err)
{
    char team[SLUG_MAX + 1], slug[SLUG_MAX + 1];
    if (template_name_parse(name, team, slug) == 0 && *team)
        return find_by_name(api, team, slug, view, at, err);
    return find_by_slug(api, name, view, at, err);
}

int template_view_read_tags(struct api *api, struct template_view *view, unsigned at,
                            struct error **err)
{
    return template_tags_list(api->worker.db, view->versions[at].template_id, &view->tags,
                              &view->tag_count, err);
}

int template_view_check_owner(const struct api *api, const struct template_version *version,
                              struct error **err)
{
    if (principal_writes(&api->principal, version->owner))
        return 0;
    return error_set(
        err, ERR_TEAM_FORBIDDEN,
        "The template %s belongs to the team %s%s, where this API key cannot change anything.",
        version->slug, version->team_slug,
        template_is_deployments(version) ? " of the deployment's operator" : "");
}

int templates_show(void *context, struct http_request *request, struct http_response *response,
                   struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    unsigned at;
    if (template_view_find(api, request->captures[0], &view, &at, err) < 0)
        return -1;
    return http_response_json(response, 200, template_view_at(&view, at));
}

int template_versions_list(void *context, struct http_request *request,
                           struct http_response *response, struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    unsigned at;
    if (template_view_find(api, request->captures[0], &view, &at, err) < 0 ||
        template_view_read_tags(api, &view, at, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (unsigned i = at; i < view.count && template_view_same(&view, i, at); i++)
        json_array_append_new(
            rows, template_version_to_json(&view.versions[i], view.tags, view.tag_count));
    return http_response_json(response, 200, json_pack("{s:o}", "versions", rows));
}
