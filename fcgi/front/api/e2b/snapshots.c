/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots: for E2B's clients a kind of template with a name and tags, here checkpoints. A
 * snapshot without a name is known by its id. A snapshot with a name is known as team/name:tag.
 * This means the last checkpoint with that name and tag, and a list shows it once.
 */
#include <stdlib.h>
#include <string.h>

#include "api/e2b/e2b.h"
#include "api/page_list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "checkpoint/checkpoint_removal.h"
#include "template/template_tag.h"

/* --- names --- */

/* Return the checkpoint name for [team/]name[:tag]; the caller frees it. NULL: no checkpoint can
 * have it. */
static char *stored_name(const struct team *team, const char *given)
{
    size_t prefix = strlen(team->slug);
    autofree char *lower = xstrdup(given);
    e2b_lower(lower);
    char *name = lower;
    if (strncmp(name, team->slug, prefix) == 0 && name[prefix] == '/')
        name += prefix + 1;
    size_t length = strcspn(name, ":");
    const char *tag = name[length] ? name + length + 1 : TEMPLATE_TAG_DEFAULT;
    name[length] = '\0';
    if (!checkpoint_name_is_valid(name) || !checkpoint_tag_is_valid(tag))
        return NULL;
    return str_equal(tag, TEMPLATE_TAG_DEFAULT) ? xstrdup(name) : xasprintf("%s:%s", name, tag);
}

static const char *tag_of(const struct checkpoint *checkpoint)
{
    const char *colon = strchr(checkpoint->name, ':');
    return colon ? colon + 1 : TEMPLATE_TAG_DEFAULT;
}

static json_t *snapshot_to_json(const struct checkpoint *checkpoint)
{
    if (checkpoint_is_unnamed(checkpoint))
        return json_pack("{s:s, s:[]}", "snapshotID", checkpoint->id, "names");
    autofree char *name =
        xasprintf("%s/%.*s:%s", checkpoint->team_slug, (int)strcspn(checkpoint->name, ":"),
                  checkpoint->name, tag_of(checkpoint));
    return json_pack("{s:s, s:[s]}", "snapshotID", name, "names", name);
}

/* --- create --- */

/* Take a checkpoint with memory, as E2B does. If the sandbox cannot have one, take it of the disk
 * only. */
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
    const char *given = json_string_value(json_object_get(request->json, "name"));
    const struct team *team = principal_team_of_id(&api->principal, api->access.sandbox.team_id);
    autofree char *name = given ? stored_name(team, given) : NULL;
    struct checkpoint_create wanted = {
        .claim = api_claim,
        .claim_context = api,
        .user_id = api->principal.user_id,
        .name = name,
    };
    if (given && !name)
        return error_set_field(err, ERR_INVALID_REQUEST, "/name",
                               "A snapshot's name is letters, digits, dots, underscores and "
                               "hyphens, beginning with a letter or a digit. You can write your "
                               "own team and a slash before it, and a colon and a tag after it.");
    if (snapshot(api, &wanted, &checkpoint, err) < 0)
        return -1;
    log_context_set("checkpoint", checkpoint.id);
    return http_response_json(response, 201, snapshot_to_json(&checkpoint));
}

/* --- list --- */

PAGE_ROW(struct checkpoint);

static int list_rows(struct db *db, const struct page_query *query, void **rows, unsigned *count,
                     struct error **err)
{
    struct checkpoint *checkpoints = NULL;
    const char *given = query->page->name;
    const struct team *team = query->page->teams[0];
    autofree char *name = given && !id_is_valid("ckp_", given) ? stored_name(team, given) : NULL;
    const struct checkpoint_filter filter = {
        .team_id = query->team_id,
        .sandbox_id = query->page->sandbox_id,
        .name = name ? name : given,
        .any_tag = given && !strchr(given, ':'),
        .before = query->before,
        .last_alone = true,
        .limit = query->limit,
    };
    int result = checkpoint_list(db, &filter, &checkpoints, count, err);
    *rows = checkpoints;
    return result;
}

static json_t *row_to_json(const struct api *api, const void *row)
{
    (void)api;
    return snapshot_to_json(row);
}

int e2b_snapshots_list(void *context, struct http_request *request, struct http_response *response,
                       struct error **err)
{
    static const struct page_kind kind = {
        .member = "snapshots",
        .row_size = sizeof(struct checkpoint),
        .list = list_rows,
        .to_json = row_to_json,
    };
    return e2b_list(context, &kind, request, response, err);
}

/* --- as templates --- */

/* Find the checkpoints of a name with all its tags, or the checkpoint of an id. The caller frees
 * the list. An empty list is no error. */
static int find_all(struct api *api, const char *given, struct checkpoint **list, unsigned *count,
                    struct error **err)
{
    const struct team *team = api->access.team;
    error_auto missing = NULL;
    *list = NULL;
    *count = 0;
    if (id_is_valid("ckp_", given)) {
        *list = xcalloc(1, sizeof **list);
        if (checkpoint_get(api->worker.db, given, *list, &missing) < 0)
            return missing->code == ERR_NOT_FOUND ? 0 : error_move(err, &missing);
        *count = principal_reaches(&api->principal, (*list)->team_id);
        return 0;
    }
    autofree char *name = stored_name(team, given);
    if (!name)
        return 0;
    name[strcspn(name, ":")] = '\0';
    return checkpoint_list_tags(api->worker.db, team->id, name, list, count, err);
}

/* Return whether a given name includes this checkpoint's tag. A name without a tag includes all
 * tags. */
static bool is_meant(const char *given, const struct checkpoint *checkpoint)
{
    const char *colon = strchr(given, ':');
    return !colon || strcasecmp(colon + 1, tag_of(checkpoint)) == 0;
}

/* An id may name a checkpoint of another team than the one that the request is about. */
static int delete_one(struct api *api, const struct checkpoint *checkpoint, struct error **err)
{
    if (!principal_writes(&api->principal, checkpoint->team_id))
        return error_set(err, ERR_INSUFFICIENT_SCOPE,
                         "You are a viewer of the snapshot's team, and cannot delete it.");
    memcpy(api->audit.entry.team_id, checkpoint->team_id, sizeof api->audit.entry.team_id);
    return checkpoint_delete(&api->worker, checkpoint->id, err);
}

int e2b_snapshots_delete(struct api *api, const char *name, bool *found, struct error **err)
{
    autofree struct checkpoint *list = NULL;
    unsigned count;
    *found = false;
    if (find_all(api, name, &list, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++) {
        if (!is_meant(name, &list[i]))
            continue;
        if (delete_one(api, &list[i], err) < 0)
            return -1;
        *found = true;
    }
    return 0;
}

int e2b_snapshots_tags(struct api *api, const char *name, json_t *tags, struct error **err)
{
    autofree struct checkpoint *list = NULL;
    unsigned count;
    if (find_all(api, name, &list, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++)
        if (i == 0 || !str_equal(list[i].name, list[i - 1].name))
            json_array_append_new(
                tags, e2b_tag_to_json(tag_of(&list[i]), list[i].id, list[i].created_at_ms));
    return 0;
}
