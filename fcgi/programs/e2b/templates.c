/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Templates and snapshots: with them a snapshot is a kind of template, with us a checkpoint. */
#include <stdlib.h>
#include <string.h>

#include "api/page_list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/ulid.h"
#include "checkpoint/checkpoint_removal.h"
#include "e2b/e2b.h"
#include "template/template.h"

/* With them a snapshot has the memory. One that can have none is of the disk. */
static int snapshot(struct api *api, struct checkpoint_create *wanted,
                    struct checkpoint *checkpoint, struct error **err)
{
    const char *id = api->access.sandbox.id;
    wanted->memory = true;
    if (sandbox_checkpoint(&api->worker, id, wanted, checkpoint, err) == 0)
        return 0;
    if ((*err)->code != ERR_MEMORY_NOT_KEPT)
        return -1;
    error_clear(err);
    wanted->memory = false;
    return sandbox_checkpoint(&api->worker, id, wanted, checkpoint, err);
}

int e2b_snapshots_create(void *context, struct http_request *request,
                         struct http_response *response, struct error **err)
{
    struct api *api = context;
    struct checkpoint checkpoint;
    struct checkpoint_create wanted = {
        .claim = api_claim,
        .claim_context = api,
        .user_id = api->principal.user_id,
        .name = json_string_value(json_object_get(request->json, "name")),
    };
    if (wanted.name && !checkpoint_name_is_valid(wanted.name))
        return error_set_field(err, ERR_INVALID_REQUEST, "/name",
                               "A snapshot's name is letters, digits, dots, underscores and "
                               "hyphens, beginning with a letter or a digit.");
    if (snapshot(api, &wanted, &checkpoint, err) < 0)
        return -1;
    log_context_set("checkpoint", checkpoint.id);
    return http_response_json(response, 201, e2b_snapshot_to_json(&checkpoint));
}

static json_t *row_to_json(const struct api *api, const void *row)
{
    (void)api;
    return e2b_snapshot_to_json(row);
}

int e2b_snapshots_list(void *context, struct http_request *request, struct http_response *response,
                       struct error **err)
{
    struct page_kind kind = checkpoints_page;
    kind.to_json = row_to_json;
    return e2b_list(context, &kind, request, response, err);
}

/* --- templates --- */

static bool begins_template(const struct template_version *versions, unsigned at)
{
    return at == 0 || strcmp(versions[at].template_id, versions[at - 1].template_id) != 0;
}

int e2b_templates_list(void *context, struct http_request *request, struct http_response *response,
                       struct error **err)
{
    struct api *api = context;
    autofree struct template_version *versions = NULL;
    unsigned count = 0;
    const char *team = http_query(request, "teamID");
    if (team && !str_equal(team, api->access.team->id) && !str_equal(team, api->access.team->slug))
        return error_set_field(err, ERR_TEAM_FORBIDDEN, "teamID",
                               "A key lists the templates of its own team, %s, only.",
                               api->access.team->slug);
    if (template_version_list(api->worker.db, api->access.team->id, &versions, &count, err) < 0)
        return -1;
    json_t *list = json_array();
    for (unsigned i = 0; i < count; i++)
        if (begins_template(versions, i))
            json_array_append_new(list, e2b_template_to_json(versions, count, i));
    return http_response_json(response, 200, list);
}

int e2b_templates_alias(void *context, struct http_request *request, struct http_response *response,
                        struct error **err)
{
    struct api *api = context;
    autofree struct template_version *versions = NULL;
    unsigned count = 0;
    if (template_version_list(api->worker.db, api->access.team->id, &versions, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++)
        if (str_equal(versions[i].slug, request->captures[0]))
            return http_response_json(response, 200,
                                      json_pack("{s:s, s:b}", "templateID", versions[i].slug,
                                                "public",
                                                (int)template_is_deployments(&versions[i])));
    return error_set(err, ERR_NOT_FOUND, "There is no template of this name.");
}

static int delete_snapshot(struct api *api, const char *id, struct http_response *response,
                           struct error **err)
{
    struct checkpoint checkpoint;
    if (checkpoint_get(api->worker.db, id, &checkpoint, err) < 0)
        return -1;
    if (!principal_reaches(&api->principal, checkpoint.team_id))
        return error_set(err, ERR_NOT_FOUND, "There is no such snapshot.");
    if (checkpoint_delete(&api->worker, id, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}

int e2b_templates_delete(void *context, struct http_request *request,
                         struct http_response *response, struct error **err)
{
    const char *id = request->captures[0];
    return id_is_valid("ckp_", id) ? delete_snapshot(context, id, response, err)
                                   : templates_delete(context, request, response, err);
}
