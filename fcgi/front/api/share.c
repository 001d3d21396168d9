/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find the team whose share of the pool a request uses, and take the share. */
#include <string.h>

#include "api/api.h"
#include "api/share_db.h"
#include "base/client_network.h"
#include "base/mem.h"
#include "base/str.h"

#define COPIES_POOL  "copies"  /* its requests take long, so others wait long too */
#define RECORDS_POOL "records" /* its reads take a few milliseconds of the database */

static const char share_is_used[] =
    "Calls of this team or user already use their share of the service's workers; try again when "
    "some of these calls have ended.";

/* Find the team of the object in the path. A missing object counts for the personal team. An
 * object of another team counts for the personal team too, if the key has no access to that team:
 * a stranger must not use its share. */
static int team_of_path(struct api *api, const struct http_request *request, char team[ID_SIZE],
                        struct error **err)
{
    error_auto missing = NULL;
    if (share_team_of(api->worker.db, request->captures[0], team, &missing) == 0 &&
        principal_reaches(&api->principal, team))
        return 0;
    if (missing && missing->code != ERR_NOT_FOUND)
        return error_move(err, &missing);
    memcpy(team, api->principal.personal_team_id, ID_SIZE);
    return 0;
}

/* Find the team in the query or body. A team that the key does not reach is refused later, at no
 * cost for others. */
static void team_of_input(const struct api *api, const struct http_request *request,
                          char team[ID_SIZE])
{
    const char *slug = json_string_value(json_object_get(request->json, "team"));
    const struct team *named;
    error_auto ignored = NULL;
    memcpy(team, api->principal.personal_team_id, ID_SIZE);
    if (principal_team(&api->principal, slug ? slug : http_query(request, "team"), NULL, &named,
                       &ignored) == 0)
        memcpy(team, named->id, ID_SIZE);
}

/* Find the team; "" when it is in a body that is not read yet. */
static int find_team(struct api *api, const struct http_request *request, bool body_is_read,
                     char team[ID_SIZE], struct error **err)
{
    const struct principal *principal = &api->principal;
    team[0] = '\0';
    if (principal->team_count == 1)
        memcpy(team, principal->teams[0].id, ID_SIZE);
    else if (request->capture_count && share_has_team(request->captures[0]))
        return team_of_path(api, request, team, err);
    else if (body_is_read)
        team_of_input(api, request, team);
    return 0;
}

/* Fail a request, which then waits until its claim has room. */
static int must_wait(struct api *api, struct http_request *request, const char *why,
                     struct error **err)
{
    const struct settings *settings = api->settings;
    bool copies = str_equal(pool_name(api->pool), COPIES_POOL);
    request->must_wait = true;
    request->wait_ms = (unsigned)(copies ? settings->resume_wait_s * 1000 : settings->pool_wait_ms);
    return error_set(err, ERR_SHARE_USED_UP, "%s", why);
}

/* Take a share that all teams use together. An IPv4 address or a /48 may use half the share. */
static int take_common_share(struct api *api, struct http_request *request, const char *what,
                             struct error **err)
{
    char network[CLIENT_NETWORK_SIZE];
    client_network_wide(request->remote_address, network);
    pool_leave(api->pool);
    request->claim = (struct pool_claim){
        .team = pool_tenant(what), .user = pool_tenant(network), .is_narrow = true};
    api->has_share = pool_enter(api->pool, &request->claim);
    if (api->has_share)
        return 0;
    return must_wait(api, request,
                     "Many people are signing in at this moment; try again in a few seconds.", err);
}

int api_take_password_share(struct api *api, struct http_request *request, struct error **err)
{
    return take_common_share(api, request, "passwords", err);
}

int api_take_oidc_share(struct api *api, struct http_request *request, struct error **err)
{
    return take_common_share(api, request, "identity provider", err);
}

int api_take_hook_share(struct api *api, struct http_request *request, struct error **err)
{
    if (request->claim.waits)
        return 0;
    pool_leave(api->pool);
    request->claim.waits = true;
    api->has_share = pool_enter(api->pool, &request->claim);
    return api->has_share ? 0 : must_wait(api, request, share_is_used, err);
}

/* Traits of an operation. */
enum {
    LABORS = 1, /* takes much processor time: starts a sandbox, writes memory, compiles a policy */
    WAITS = 2,  /* may wait for a hook of the sandbox */
    WAKES = 4,  /* does neither if the sandbox runs already */
};

static unsigned traits_of(const struct http_request *request)
{
    static const struct {
        const char *operation;
        unsigned traits;
    } rows[] = {
        {"createSandbox", LABORS},
        {"resumeSandbox", LABORS | WAITS | WAKES},
        {"connectSandbox", LABORS | WAITS | WAKES},
        {"rollbackSandbox", LABORS | WAITS},
        {"pauseSandbox", LABORS | WAITS},
        {"stopSandbox", LABORS | WAITS},
        {"forkSandbox", LABORS},
        {"createCheckpoint", LABORS},
        {"createSnapshot", LABORS},
        {"replaceNetwork", LABORS},
        {"answerApproval", LABORS},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (str_equal(request->operation, rows[i].operation))
            return rows[i].traits;
    return 0;
}

/* Return whether a text from a path can be the id or the route of a sandbox. */
static bool may_name_sandbox(const char *text)
{
    return id_is_valid("sbx_", text) || route_token_is_valid(text);
}

/* Find the traits of a request. */
static int find_traits(struct api *api, const struct http_request *request, unsigned *traits,
                       struct error **err)
{
    struct share_facts facts;
    *traits = traits_of(request);
    if (!(*traits & WAITS))
        return 0;
    /* Old clients of E2B send the sandbox's id, a hyphen and another id. */
    autofree char *id = xstrndup(request->captures[0], strcspn(request->captures[0], "-"));
    if (!may_name_sandbox(id)) {
        *traits &= ~(unsigned)WAITS;
        return 0;
    }
    if (share_facts_of(api->worker.db, id, &facts, err) < 0)
        return -1;
    if (!facts.has_hooks)
        *traits &= ~(unsigned)WAITS;
    if (facts.runs && (*traits & WAKES))
        *traits = 0;
    return 0;
}

int api_take_share(struct api *api, struct http_request *request, bool body_is_read,
                   struct error **err)
{
    char team[ID_SIZE];
    unsigned traits;
    if (api->has_share)
        return 0;
    if (find_team(api, request, body_is_read, team, err) < 0 ||
        find_traits(api, request, &traits, err) < 0)
        return -1;
    /* Take the user's share before the body is read; the body may name any of the user's teams. */
    request->claim = (struct pool_claim){
        .team = team[0] ? pool_tenant(team) : 0,
        .user = pool_tenant(api->principal.user_id),
        .borrows =
            str_equal(request->method, "GET") && str_equal(pool_name(api->pool), RECORDS_POOL),
        /* A copy of data takes little processor time. */
        .starts = (traits & LABORS) && !str_equal(pool_name(api->pool), COPIES_POOL),
        .waits = traits & WAITS,
    };
    if (pool_enter(api->pool, &request->claim)) {
        api->has_share = team[0];
        return 0;
    }
    return must_wait(api, request, share_is_used, err);
}
