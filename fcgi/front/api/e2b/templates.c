/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Templates. Snapshots, which are templates for E2B's clients too, are in snapshots.c. */
#include <stdlib.h>
#include <string.h>

#include "api/e2b/e2b.h"
#include "api/page_list.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/ulid.h"
#include "template/template.h"

/* --- templates --- */

static bool is_same(const struct template_version *a, const struct template_version *b)
{
    return !strcmp(a->template_id, b->template_id);
}

/* Return whether the slug alone names another template. For one slug the team's own template comes
 * after the deployment's, whose id sorts before all others. */
static bool is_hidden(const struct template_version *versions, unsigned count, unsigned at)
{
    for (unsigned i = at + 1; i < count && str_equal(versions[i].slug, versions[at].slug); i++)
        if (!is_same(&versions[i], &versions[at]))
            return true;
    return false;
}

static struct e2b_template read_template(const struct template_version *versions, unsigned count,
                                         unsigned at)
{
    struct e2b_template template = {.version = versions[at]};
    memcpy(template.id, versions[at].template_id, ID_SIZE);
    template.is_hidden = is_hidden(versions, count, at);
    for (unsigned i = at; i < count && is_same(&versions[i], &versions[at]); i++) {
        template.builds++;
        if (template.version.state != TEMPLATE_READY && versions[i].state == TEMPLATE_READY)
            template.version = versions[i];
    }
    return template;
}

/* Read the templates that a team sees, sorted by slug; the caller frees the list. */
static int read_templates(struct db *db, const struct team *team, struct e2b_template **list,
                          unsigned *count, struct error **err)
{
    autofree struct template_version *versions = NULL;
    autofree struct template_use *uses = NULL;
    unsigned version_count = 0, use_count = 0;
    struct plan plan;
    *list = NULL;
    *count = 0;
    if (plan_get(db, team->plan, &plan, err) < 0 ||
        template_version_list(db, team->id, &versions, &version_count, err) < 0 ||
        template_uses_list(db, team->id, &uses, &use_count, err) < 0)
        return -1;
    *list = xcalloc(version_count + 1, sizeof **list);
    for (unsigned i = 0; i < version_count; i += (*list)[*count - 1].builds) {
        struct e2b_template *template = &(*list)[(*count)++];
        *template = read_template(versions, version_count, i);
        template->use = template_use_of(uses, use_count, template->id);
        template->disk_gb = plan.disk_gb;
    }
    return 0;
}

static int check_team(const struct api *api, const struct http_request *request, struct error **err)
{
    const char *team = http_query(request, "teamID");
    if (!team || str_equal(team, api->access.team->id) || str_equal(team, api->access.team->slug))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "teamID",
                           "A key can list the templates of its own team, %s, only.",
                           api->access.team->slug);
}

int e2b_templates_list(void *context, struct http_request *request, struct http_response *response,
                       struct error **err)
{
    struct api *api = context;
    autofree struct e2b_template *templates = NULL;
    unsigned count = 0;
    if (check_team(api, request, err) < 0 ||
        read_templates(api->worker.db, api->access.team, &templates, &count, err) < 0)
        return -1;
    json_t *list = json_array();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(list, e2b_template_to_json(&templates[i]));
    return http_response_json(response, 200, list);
}

/* --- pages, newest first --- */

PAGE_ROW(struct e2b_template);

static int newest_first(const void *a, const void *b)
{
    return strcmp(((const struct e2b_template *)b)->id, ((const struct e2b_template *)a)->id);
}

/* List the templates of the one team of the list. */
static int list_page(struct db *db, const struct page_query *query, void **rows, unsigned *count,
                     struct error **err)
{
    struct e2b_template *templates;
    unsigned all = 0;
    int result = read_templates(db, query->page->teams[0], &templates, &all, err);
    *rows = templates;
    for (unsigned i = 0; i < all; i++)
        if (!query->before || strcmp(templates[i].id, query->before) < 0)
            templates[(*count)++] = templates[i];
    if (*count)
        qsort(templates, *count, sizeof *templates, newest_first);
    if (*count > query->limit)
        *count = query->limit;
    return result;
}

static json_t *template_row_to_json(const struct api *api, const void *row)
{
    (void)api;
    return e2b_template_to_json(row);
}

int e2b_templates_list_v2(void *context, struct http_request *request,
                          struct http_response *response, struct error **err)
{
    static const struct page_kind kind = {
        .member = "templates",
        .row_size = sizeof(struct e2b_template),
        .list = list_page,
        .to_json = template_row_to_json,
    };
    return check_team(context, request, err) < 0 ? -1
                                                 : e2b_list(context, &kind, request, response, err);
}

/* --- one template --- */

/* Find whether a template with this name is public. A tag in the name must exist too. */
static int find_template(struct api *api, const char *name, bool *is_public, struct error **err)
{
    template_view_auto view = {0};
    struct template_version tagged;
    const struct template_version *found = &tagged;
    autofree char *reference = NULL;
    unsigned at;
    if (!strchr(name, ':')) {
        if (e2b_template_find(api, name, &view, &at, err) < 0)
            return -1;
        found = &view.versions[at];
    } else if (e2b_template_of(api, name, &reference, err) < 0 ||
               template_resolve(api->worker.db, api->access.team->id, reference, "alias", &tagged,
                                err) < 0)
        return -1;
    *is_public = found->is_public || template_is_deployments(found);
    return 0;
}

/* Return whether a name without a tag is meant, or one of these tags. */
static bool has_tag(const json_t *tags, const char *name)
{
    const char *colon = strchr(name, ':');
    for (size_t i = 0; i < json_array_size(tags); i++) {
        const char *tag = json_string_value(json_object_get(json_array_get(tags, i), "tag"));
        if (!colon || strcasecmp(colon + 1, tag) == 0)
            return true;
    }
    return false;
}

int e2b_templates_alias(void *context, struct http_request *request, struct http_response *response,
                        struct error **err)
{
    struct api *api = context;
    error_auto missing = NULL;
    const char *name = request->captures[0];
    json_auto_t *tags = json_array();
    bool is_public = false;
    if (find_template(api, name, &is_public, &missing) < 0) {
        if (missing->code != ERR_NOT_FOUND && missing->code != ERR_TEMPLATE_NOT_FOUND)
            return error_move(err, &missing);
        if (e2b_snapshots_tags(api, name, tags, err) < 0)
            return -1;
        if (!has_tag(tags, name))
            return error_move(err, &missing);
    }
    return http_response_json(
        response, 200,
        json_pack("{s:s%, s:b}", "templateID", name, strcspn(name, ":"), "public", (int)is_public));
}

int e2b_templates_update(void *context, struct http_request *request,
                         struct http_response *response, struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    const json_t *is_public = json_object_get(request->json, "public");
    unsigned at;
    if (e2b_read_template_name(api, &request->captures[0], err) < 0)
        return -1;
    if (!is_public ? e2b_template_find(api, request->captures[0], &view, &at, err) < 0
                   : templates_set_public(api, request->captures[0], json_is_true(is_public), &view,
                                          &at, err) < 0)
        return -1;
    const struct template_version *found = &view.versions[at];
    return http_response_json(
        response, 200,
        json_pack("{s:[o]}", "names", json_sprintf("%s/%s", found->team_slug, found->slug)));
}

/* Check whether the team has a template with the name. If a snapshot has the same name, the name
 * means the template, as in a create. */
static int is_own_template(struct api *api, const char *name, bool *is_own, struct error **err)
{
    template_view_auto view = {0};
    error_auto missing = NULL;
    unsigned at;
    *is_own = false;
    if (e2b_template_find(api, name, &view, &at, &missing) < 0)
        return missing->code == ERR_NOT_FOUND ? 0 : error_move(err, &missing);
    *is_own = principal_reaches(&api->principal, view.versions[at].owner);
    return 0;
}

/* Delete all builds of a template; a tag in the name is ignored. */
static int delete_template(struct api *api, struct http_request *request,
                           struct http_response *response, struct error **err)
{
    request->captures[0][strcspn(request->captures[0], ":")] = '\0';
    return e2b_read_template_name(api, &request->captures[0], err) < 0
               ? -1
               : templates_delete(api, request, response, err);
}

int e2b_templates_delete(void *context, struct http_request *request,
                         struct http_response *response, struct error **err)
{
    const char *given = request->captures[0];
    autofree char *name = xstrndup(given, strcspn(given, ":"));
    bool is_own, is_snapshot = false;
    if (is_own_template(context, name, &is_own, err) < 0 ||
        (!is_own && e2b_snapshots_delete(context, given, &is_snapshot, err) < 0))
        return -1;
    if (!is_snapshot)
        return delete_template(context, request, response, err);
    response->status = 204;
    return 0;
}
