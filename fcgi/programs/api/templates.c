/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Templates as a key sees them: those of its teams and those of the deployment. A team's own
 * template hides the deployment's of the same slug, as it does in a create. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/sandbox_output.h"
#include "api/template_view.h"
#include "base/buffer.h"
#include "base/str.h"
#include "template/template.h"

/* latest_version is null for one without a ready build. */
static json_t *template_to_json(const struct template_version *version, uint32_t latest)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "id", version->template_id, "team",
                     version->team_slug, "slug", version->slug, "latest_version",
                     latest ? json_integer(latest) : json_null(), "created_at",
                     time_to_json(version->template_created_at_ms));
}

json_t *template_version_to_json(const struct template_version *version)
{
    return json_pack("{s:s, s:s, s:s, s:I, s:{s:I, s:I}, s:b, s:s, s:o}", "id", version->id, "team",
                     version->team_slug, "template", version->slug, "version",
                     (json_int_t)version->version, "runtime_baseline", "cpu",
                     (json_int_t)version->cpu, "memory_mb", (json_int_t)version->memory_mb,
                     "net_admin", version->net_admin, "state", template_state_names[version->state],
                     "created_at", time_to_json(version->created_at_ms));
}

void template_view_deinit(struct template_view *view)
{
    free(view->versions);
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
    uint32_t latest = 0;
    for (unsigned i = at; i < view->count && template_view_same(view, i, at); i++)
        if (!latest && view->versions[i].state == TEMPLATE_READY)
            latest = view->versions[i].version;
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
    return error_set(err, ERR_NOT_FOUND, "The team %s sees no template of this slug. It sees: %s.",
                     view->team->slug, count ? buffer_string(&seen) : "none");
}

int template_view_find(struct api *api, const struct http_request *request,
                       struct template_view *view, unsigned *at, struct error **err)
{
    if (read_view(api, view, err) < 0)
        return -1;
    for (unsigned i = 0; i < view->count; i++) {
        if (str_equal(view->versions[i].slug, request->captures[0]) && !is_hidden(view, i)) {
            *at = i;
            return 0;
        }
    }
    return no_template(view, err);
}

int templates_show(void *context, struct http_request *request, struct http_response *response,
                   struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    unsigned at;
    if (template_view_find(api, request, &view, &at, err) < 0)
        return -1;
    return http_response_json(response, 200, template_view_at(&view, at));
}

int template_versions_list(void *context, struct http_request *request,
                           struct http_response *response, struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    unsigned at;
    if (template_view_find(api, request, &view, &at, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (unsigned i = at; i < view.count && template_view_same(&view, i, at); i++)
        json_array_append_new(rows, template_version_to_json(&view.versions[i]));
    return http_response_json(response, 200, json_pack("{s:o}", "versions", rows));
}
