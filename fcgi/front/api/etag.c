/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/etag.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "api/access.h"
#include "base/clock.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "db/named_lease.h"

#define HASH_BYTES 16
#define ETAG_SIZE  (2 * HASH_BYTES + 1)
#define PLACES     8 /* leases of a team, shared by its records */
#define WAIT_MS    5000
#define POLL_MS    20

/* Members that sandlot changes by itself, of a sandbox, its network or port, a webhook, a template
 * or a secret. */
static const char *const own_members[] = {
    "state",         "deadline",     "hold_until", "updated_at",     "stopped_at",   "reason",
    "resumed_from",  "silent_since", "cleanup_at", "status",         "last_id",      "delivered_at",
    "status_reason", "failed_at",    "size_mb",    "gateway_status", "last_used_at",
};

static void remove_own_members(json_t *record)
{
    for (size_t i = 0; i < ARRAY_SIZE(own_members); i++)
        json_object_del(record, own_members[i]);
}

static void compute(const struct http_response *response, char etag[ETAG_SIZE])
{
    unsigned char hash[HASH_BYTES];
    buffer_auto text = BUFFER_INIT(HTTP_RESPONSE_BYTES_MAX);
    json_t *record = response->json
                         ? json_deep_copy(response->json)
                         : json_loadb(buffer_string(&response->body), response->body.size, 0, NULL);
    remove_own_members(record);
    remove_own_members(json_object_get(record, "network"));
    json_text_value(&text, record);
    json_decref(record);
    crypto_generichash(hash, sizeof hash, (const unsigned char *)buffer_string(&text), text.size,
                       NULL, 0);
    sodium_bin2hex(etag, ETAG_SIZE, hash, sizeof hash);
}

void etag_add(const struct route *route, struct http_response *response)
{
    char etag[ETAG_SIZE];
    if (!route->has_etag || response->status != 200)
        return;
    compute(response, etag);
    http_response_header(response, "ETag", "\"%s\"", etag);
}

/* Return the GET route of the record that the other route changes. */
static const struct route *shown_by(const struct route *route)
{
    for (size_t i = 0; i < api_route_count; i++)
        if (api_routes[i].has_etag && !strcmp(api_routes[i].pattern, route->pattern))
            return &api_routes[i];
    return NULL;
}

/* Return whether a list contains the ETag or a star, which matches any. nginx makes the ETag of a
 * compressed answer a weak one. */
static bool matches(const char *list, const char *etag)
{
    while (*list) {
        list += strspn(list, " \t,");
        if (*list == '*')
            return true;
        if (str_starts_with(list, "W/"))
            list += 2;
        if (*list == '"' && !strncmp(list + 1, etag, ETAG_SIZE - 1) && list[ETAG_SIZE] == '"')
            return true;
        list += strcspn(list, ",");
    }
    return false;
}

/* Compare the record with the conditions; either list may be NULL. A record that does not exist
 * fulfils each If-None-Match; for If-Match the error of the GET stays. */
static int check(struct api *api, const struct route *shows, struct http_request *request,
                 const char *match, const char *none_match, struct error **err)
{
    char etag[ETAG_SIZE];
    struct http_response shown;
    http_response_init(&shown);
    int result = shows->handler(api, request, &shown, err);
    if (result == 0)
        compute(&shown, etag);
    http_response_deinit(&shown);
    if (result < 0 && !match && (*err)->code == ERR_NOT_FOUND) {
        error_clear(err);
        return 0;
    }
    if (result < 0)
        return -1;
    if (match && !matches(match, etag))
        return error_set_field(err, ERR_PRECONDITION_FAILED, "If-Match",
                               "The object has changed since you read it; its ETag is now \"%s\".",
                               etag);
    if (none_match && matches(none_match, etag))
        return error_set_field(err, ERR_PRECONDITION_FAILED, "If-None-Match",
                               "The record exists; its ETag is \"%s\".", etag);
    return 0;
}

/* Refuse a condition that cannot be checked. "If-Match: *" asks only for a record that
 * exists, and without one the handler refuses the change itself. */
static int refuse_unknown(const char *match, const char *none_match, struct error **err)
{
    if (!none_match && !strcmp(match, "*"))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, none_match ? "If-None-Match" : "If-Match",
                           "This call has no ETag to compare; send it without the header.");
}

/* Take a lease of the team, so that no team waits for changes of another team. */
static int hold(struct api *api, const struct route *route, const char *path, struct error **err)
{
    const char *team_id = access_team_id(&api->access, route);
    unsigned char hash[crypto_generichash_BYTES_MIN];
    int64_t give_up_ms = clock_monotonic_ms() + WAIT_MS;
    crypto_generichash(hash, sizeof hash, (const unsigned char *)path, strlen(path), NULL, 0);
    snprintf(api->etag_lease, sizeof api->etag_lease, "if-match.%s.%u",
             team_id ? team_id : api->principal.user_id, hash[0] % PLACES);
    for (bool ours = false; !ours;) {
        if (named_lease_take(api->worker.db, api->etag_lease, api->worker.lease_owner, &ours, err) <
            0)
            return -1;
        if (!ours && clock_monotonic_ms() >= give_up_ms) {
            api->etag_lease[0] = '\0';
            return error_set(err, ERR_SANDBOX_BUSY,
                             "Another request is changing the object; try again in a moment.");
        }
        if (!ours)
            clock_sleep_ms(POLL_MS);
    }
    return 0;
}

/* Return whether the route changes a record. The changes of people's own sign-ins need no right to
 * write in a team. */
static bool changes(const struct route *route)
{
    return route->scope == ROUTE_WRITE ||
           (strcmp(route->method, "GET") != 0 && strcmp(route->method, "POST") != 0);
}

int etag_begin(struct api *api, const struct route *route, struct http_request *request,
               struct error **err)
{
    const char *match = http_header(request, "If-Match");
    const char *none_match = http_header(request, "If-None-Match");
    if (!changes(route) || (!match && !none_match))
        return 0;
    const struct route *shows = strcmp(route->method, "POST") ? shown_by(route) : NULL;
    if (!shows)
        return refuse_unknown(match, none_match, err);
    /* The record was read before its lease was taken: another change may have come between. */
    if (hold(api, route, request->path, err) < 0 || access_settle(api, route, request, err) < 0 ||
        access_check_shown(api, route, err) < 0)
        return -1;
    return check(api, shows, request, match, none_match, err);
}

void etag_end(struct api *api)
{
    error_auto failure = NULL;
    if (!api->etag_lease[0])
        return;
    if (named_lease_release(api->worker.db, api->etag_lease, api->worker.lease_owner, &failure) < 0)
        log_warning(
            "cannot release the lease of a conditional change; other changes wait until it ends",
            LOG_STR("lease", api->etag_lease), LOG_ERROR(failure));
    api->etag_lease[0] = '\0';
}
