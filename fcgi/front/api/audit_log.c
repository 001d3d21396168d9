/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The audit log of a team: owners see all entries; other members see the entries of an object that
 * they may see. */

#include "api/api.h"
#include "api/page_list.h"
#include "api/sandbox_output.h"

_Static_assert(offsetof(struct audit_entry, id) == 0, "a row begins with its id");

static int list_rows(struct db *db, const struct page_query *query, void **rows, unsigned *count,
                     struct error **err)
{
    struct audit_entry *entries;
    struct audit_filter filter = query->page->audit;
    filter.team_id = query->team_id;
    int result =
        audit_list(db, &filter, query->before, query->limit, &entries, count, query->end, err);
    *rows = entries;
    return result;
}

static json_t *text_or_null(const char *text)
{
    return *text ? json_string(text) : json_null();
}

static json_t *row_to_json(const struct api *api, const void *row)
{
    const struct audit_entry *entry = row;
    bool is_owner = api->access.team->role == ROLE_OWNER;
    json_t *actor = json_pack("{s:s, s:s, s:o, s:o}", "kind", audit_actor_name(entry->actor), "id",
                              entry->actor_id, "user_id", text_or_null(entry->user_id), "user",
                              text_or_null(entry->user_name));
    return json_pack("{s:s, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:s, s:o, s:o}", "id", entry->id,
                     "at", time_to_json(entry->at_ms), "action", entry->action, "resource",
                     entry->resource, "resource_name", text_or_null(entry->resource_name), "actor",
                     actor, "address", is_owner ? text_or_null(entry->address) : json_null(),
                     "request_id", text_or_null(entry->request_id), "result",
                     audit_result_name(entry->result), "error", text_or_null(entry->error),
                     "begun_id", text_or_null(entry->begun_id));
}

static const struct page_kind audit_page = {
    .member = "items",
    .row_size = sizeof(struct audit_entry),
    .list = list_rows,
    .to_json = row_to_json,
};

static bool is_thing(const char *resource)
{
    return resource && (id_is_valid("sbx_", resource) || id_is_valid("vol_", resource) ||
                        id_is_valid("ckp_", resource));
}

int audit_log_list(void *context, struct http_request *request, struct http_response *response,
                   struct error **err)
{
    struct api *api = context;
    if (api->access.team->role != ROLE_OWNER && !is_thing(http_query(request, "resource")))
        return error_set(err, ERR_INSUFFICIENT_SCOPE,
                         "Only an owner of the team can read the whole log. Give a sandbox, volume "
                         "or checkpoint as `resource`.");
    return page_list(api, &audit_page, request, response, err);
}
