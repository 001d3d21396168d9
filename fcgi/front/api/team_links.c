/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Links into a team: owners make, list and revoke them; the holder of one sees it and accepts. */
#include "login/team_link.h"

#include <string.h>

#include "api/console.h"
#include "api/members.h"
#include "api/sandbox_output.h"
#include "base/clock.h"
#include "base/mem.h"

#define DAY_MS ((int64_t)24 * 3600 * 1000)

/* A link that is passed on makes no owners. */
static const char *const role_choices[] = {"member", "viewer", NULL};

const struct schema_member team_link_schema[] = {
    {.name = "role", .type = SCHEMA_STRING, .required = true, .choices = role_choices},
    {.name = "uses", .type = SCHEMA_INTEGER, .min = 1, .max = TEAM_LINK_USES_MAX},
    {.name = "expires_at", .type = SCHEMA_STRING, .min = 1, .max = 40},
    {.name = NULL},
};

const struct schema_member link_token_schema[] = {
    {.name = "token", .type = SCHEMA_STRING, .required = true, .min = 1, .max = 256},
    {.name = NULL},
};

static json_t *link_to_json(const struct team_link *link)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:o, s:o}", "id", link->id, "team", link->team_slug,
                     "role", team_role_name(link->role), "made_by", link->made_by, "uses_left",
                     (int)link->uses_left, "created_at", time_to_json(link->created_at_ms),
                     "expires_at", time_to_json(link->expires_at_ms));
}

int team_links_list(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    autofree struct team_link *links = NULL;
    unsigned count;
    (void)request;
    if (members_check_owner(api, err) < 0 ||
        team_link_list(api->worker.db, api->access.team->id, &links, &count, err) < 0)
        return -1;
    json_t *rows = JSON_LIST(links, count, link_to_json);
    return http_response_json(response, 200, json_pack("{s:o}", "items", rows));
}

static int read_end(const json_t *body, int64_t *expires_at_ms, struct error **err)
{
    const char *text = json_string_value(json_object_get(body, "expires_at"));
    int64_t now_ms = clock_now_ms();
    *expires_at_ms = now_ms + TEAM_LINK_DAYS * DAY_MS;
    if (text && clock_parse_iso8601(text, expires_at_ms) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "/expires_at",
                               "expires_at must be a time, such as 2027-01-31T12:00:00Z.");
    if (*expires_at_ms <= now_ms || *expires_at_ms > now_ms + TEAM_LINK_DAYS_MAX * DAY_MS)
        return error_set_field(err, ERR_INVALID_REQUEST, "/expires_at",
                               "A link must expire in the future, at most %d days from now.",
                               TEAM_LINK_DAYS_MAX);
    return 0;
}

/* Return the link with its secret. The token stands after a '#', which browsers do not send. */
static json_t *made_to_json(const struct api *api, const struct team_link *link, const char *token)
{
    const char *console = api->settings->console_url;
    autowipe char *url = *console ? xasprintf("%s/join#%s", console, token) : NULL;
    json_t *body = link_to_json(link);
    json_object_set_new(body, "token", json_string(token));
    json_object_set_new(body, "link", url ? json_string(url) : json_null());
    return body;
}

/* Fill in the maker and the members of the request. */
static int read_link(const struct api *api, const struct http_request *request,
                     struct team_link *link, struct error **err)
{
    const struct team *team = api->access.team;
    const json_t *uses = json_object_get(request->json, "uses");
    struct credential maker;
    *link = (struct team_link){.role = members_read_role(request),
                               .uses_left = uses ? (unsigned)json_integer_value(uses) : 1};
    memcpy(link->team_id, team->id, sizeof link->team_id);
    memcpy(link->team_slug, team->slug, sizeof link->team_slug);
    if (read_end(request->json, &link->expires_at_ms, err) < 0 ||
        credential_get_by_id(api->worker.db, api->principal.user_id, &maker, err) < 0)
        return -1;
    memcpy(link->made_by, maker.user_name, sizeof link->made_by);
    mem_wipe(&maker, sizeof maker);
    return 0;
}

int team_links_create(void *context, struct http_request *request, struct http_response *response,
                      struct error **err)
{
    struct api *api = context;
    struct team_link link;
    struct secret_hash kept;
    char token[SECRET_TEXT_SIZE];
    if (members_check_owner(api, err) < 0 || read_link(api, request, &link, err) < 0 ||
        team_link_new(api->worker.ring, &link, token, &kept, err) < 0)
        return -1;
    audit_about(&api->audit, link.id);
    int result = team_link_make(api->worker.db, &link, &kept, api->principal.user_id, err);
    mem_wipe(&kept, sizeof kept);
    json_t *body = result == 0 ? made_to_json(api, &link, token) : NULL;
    mem_wipe(token, sizeof token);
    return body ? http_response_json(response, 201, body) : -1;
}

int team_links_delete(void *context, struct http_request *request, struct http_response *response,
                      struct error **err)
{
    struct api *api = context;
    if (members_check_owner(api, err) < 0 ||
        team_link_revoke(api->worker.db, api->access.team->id, request->captures[1], err) < 0)
        return -1;
    response->status = 204;
    return 0;
}

static int find(struct api *api, const struct http_request *request, struct team_link *link,
                struct error **err)
{
    struct sign_in by = console_sign_in(api, request);
    return sign_in_find_link(&by, json_string_value(json_object_get(request->json, "token")), link,
                             err);
}

int links_show(void *context, struct http_request *request, struct http_response *response,
               struct error **err)
{
    struct api *api = context;
    struct team_link link;
    if (find(api, request, &link, err) < 0)
        return -1;
    json_t *body = link_to_json(&link);
    json_object_set_new(body, "sign_up", json_boolean(console_lets_sign_up(api)));
    return http_response_json(response, 200, body);
}

int links_accept(void *context, struct http_request *request, struct http_response *response,
                 struct error **err)
{
    struct api *api = context;
    struct team_link link;
    struct credential credential;
    struct member member;
    if (members_check_whole(api, err) < 0 || find(api, request, &link, err) < 0 ||
        credential_get_by_id(api->worker.db, api->principal.user_id, &credential, err) < 0)
        return -1;
    memcpy(api->audit.entry.team_id, link.team_id, sizeof api->audit.entry.team_id);
    audit_about(&api->audit, credential.user_name);
    int result = team_link_accept(api->worker.db, &link, credential.user_name, &member, err);
    mem_wipe(&credential, sizeof credential);
    if (result < 0)
        return -1;
    json_t *body = member_to_json(&member);
    json_object_set_new(body, "team", json_string(link.team_slug));
    return http_response_json(response, 200, body);
}
