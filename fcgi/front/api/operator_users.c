/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Users and teams of the deployment, which operators list and create. */
#include "api/api.h"
#include "api/page.h"
#include "api/sandbox_output.h"
#include "base/mem.h"
#include "login/invite.h"

const struct schema_member operator_user_schema[] = {
    {.name = "name", .type = SCHEMA_STRING, .required = true, .min = 1, .max = SLUG_MAX},
    {.name = NULL},
};

const struct schema_member operator_new_team_schema[] = {
    {.name = "slug", .type = SCHEMA_STRING, .required = true, .min = 1, .max = SLUG_MAX},
    {.name = "plan", .type = SCHEMA_STRING, .required = true, .min = 1, .max = 32},
    {.name = "owner", .type = SCHEMA_STRING, .required = true, .min = 1, .max = SLUG_MAX},
    {.name = NULL},
};

static json_t *user_to_json(const struct user *user)
{
    return json_pack("{s:s, s:s, s:b, s:b, s:i, s:o}", "id", user->id, "name", user->name,
                     "password", (int)user->has_password, "second_factor",
                     (int)user->has_second_factor, "passkeys", (int)user->passkeys, "disabled_at",
                     time_to_json(user->disabled_at_ms));
}

int operator_users(void *context, struct http_request *request, struct http_response *response,
                   struct error **err)
{
    struct api *api = context;
    autofree struct user *users = NULL;
    unsigned count;
    uint64_t limit;
    const char *after;
    if (page_read_plain(request, slug_is_valid, &after, &limit, err) < 0 ||
        user_list(api->worker.db, after ? after : "", (unsigned)limit + 1, &users, &count, err) < 0)
        return -1;
    bool more = count > limit;
    json_t *items = JSON_LIST(users, more ? limit : count, user_to_json);
    return http_response_json(response, 200,
                              json_pack("{s:o, s:s*}", "items", items, "next_token",
                                        more ? users[limit - 1].name : NULL));
}

/* Create the user with the link with which the user sets the first password; without a console
 * there is no link. The token stands after a '#', which browsers do not send. */
static int create_user(struct api *api, const char *name, json_t **body, struct error **err)
{
    struct user user = {0};
    char token[SECRET_TEXT_SIZE];
    int64_t expires_at_ms = 0;
    const struct settings *settings = api->settings;
    bool has_link = *settings->console_url;
    if (!has_link ? user_create(api->worker.db, name, &user, err) < 0
                  : invite_create_user(api->worker.db, api->worker.ring, settings, name, &user,
                                       token, &expires_at_ms, err) < 0)
        return -1;
    autowipe char *link = has_link ? xasprintf("%s/invite#%s", settings->console_url, token) : NULL;
    mem_wipe(token, sizeof token);
    *body = user_to_json(&user);
    json_object_set_new(*body, "link", has_link ? json_string(link) : json_null());
    json_object_set_new(*body, "link_expires_at", time_to_json(expires_at_ms));
    return 0;
}

int operator_user_create(void *context, struct http_request *request,
                         struct http_response *response, struct error **err)
{
    struct api *api = context;
    const char *name = json_string_value(json_object_get(request->json, "name"));
    json_t *body;
    audit_about(&api->audit, name);
    if (create_user(api, name, &body, err) < 0)
        return -1;
    return http_response_json(response, 201, body);
}

int operator_team_create(void *context, struct http_request *request,
                         struct http_response *response, struct error **err)
{
    struct api *api = context;
    struct team team;
    const json_t *body = request->json;
    const char *slug = json_string_value(json_object_get(body, "slug"));
    const char *plan = json_string_value(json_object_get(body, "plan"));
    const char *owner = json_string_value(json_object_get(body, "owner"));
    if (team_create(api->worker.db, slug, plan, owner, &team, err) < 0) {
        if (!error_clear_if(err, ERR_NOT_FOUND)) /* the path exists; a value in the body is wrong */
            return -1;
        return error_set_field(err, ERR_INVALID_REQUEST, "/owner", "There is no such user.");
    }
    return http_response_json(response, 201,
                              json_pack("{s:s, s:s}", "slug", team.slug, "plan", team.plan));
}
