/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The share of the pool that a team may have, and whose share a request takes. */
#include <string.h>

#include "api/api.h"
#include "api/share_db.h"
#include "base/client_network.h"
#include "base/mem.h"
#include "base/str.h"

#define COPIES_POOL  "copies"  /* whose requests take long, so that those that wait do, too */
#define RECORDS_POOL "records" /* whose reads take the database a few milliseconds */

/* The team of what the path names; that of nothing is the personal one. */
static int team_of_path(struct api *api, const struct http_request *request, char team[ID_SIZE],
                        struct error **err)
{
    error_auto missing = NULL;
    if (share_team_of(api->worker.db, request->captures[0], team, &missing) == 0)
        return 0;
    if (missing->code != ERR_NOT_FOUND)
        return error_move(err, &missing);
    memcpy(team, api->principal.personal_team_id, ID_SIZE);
    return 0;
}

/* The team that query or body name. What names none that the key reaches is refused later, without
 * work for anybody. */
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

/* Sets team to "" when that is still to come. */
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

/* Fails the request until there is room for the claim. */
static int must_wait(struct api *api, struct http_request *request, const char *why,
                     struct error **err)
{
    const struct settings *settings = api->settings;
    bool copies = str_equal(pool_name(api->pool), COPIES_POOL);
    request->must_wait = true;
    request->wait_ms = (unsigned)(copies ? settings->resume_wait_s * 1000 : settings->pool_wait_ms);
    return error_set(err, ERR_SHARE_USED_UP, "%s", why);
}

/* For everybody together, in the place of a team's share; an address, or a network of IPv6, has
 * half of it. */
static int take_common_share(struct api *api, struct http_request *request, const char *what,
                             struct error **err)
{
    char network[CLIENT_NETWORK_SIZE];
    client_network(request->remote_address, network);
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

int api_take_share(struct api *api, struct http_request *request, bool body_is_read,
                   struct error **err)
{
    char team[ID_SIZE];
    if (api->has_share)
        return 0;
    if (find_team(api, request, body_is_read, team, err) < 0)
        return -1;
    /* The user's share is taken before the body is read, whatever team it will name. */
    request->claim = (struct pool_claim){
        .team = team[0] ? pool_tenant(team) : 0,
        .user = pool_tenant(api->principal.user_id),
        .borrows =
            str_equal(request->method, "GET") && str_equal(pool_name(api->pool), RECORDS_POOL),
    };
    if (pool_enter(api->pool, &request->claim)) {
        api->has_share = team[0];
        return 0;
    }
    return must_wait(api, request,
                     "The team, or its user in several teams, has half of the service's workers "
                     "for such calls busy "
                     "already; try again when some of these calls are done.",
                     err);
}
