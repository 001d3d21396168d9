/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "api/access.h"
#include "api/e2b/e2b.h"
#include "api/replay.h"
#include "api/sandbox_input.h"
#include "api/volume_path.h"
#include "base/mem.h"
#include "endpoint/endpoint.h"
#include "template/template_tag.h"

static const struct route_query list_query[] = {
    {.name = "limit"},    {.name = "nextToken"}, {.name = "state", .repeatable = true},
    {.name = "metadata"}, {.name = "order"},     {.name = "startedAfter"},
    {.name = "template"}, {.name = NULL},
};
static const struct route_query snapshots_query[] = {{.name = "limit"},
                                                     {.name = "nextToken"},
                                                     {.name = "sandboxID"},
                                                     {.name = "name"},
                                                     {.name = NULL}};
static const struct route_query span_query[] = {{.name = "start"}, {.name = "end"}, {.name = NULL}};
static const struct route_query logs_query[] = {
    {.name = "start"}, {.name = "limit"}, {.name = NULL}};
static const struct route_query logs_v2_query[] = {{.name = "cursor"},    {.name = "limit"},
                                                   {.name = "direction"}, {.name = "level"},
                                                   {.name = "search"},    {.name = NULL}};
static const struct route_query templates_query[] = {{.name = "teamID"}, {.name = NULL}};
static const struct route_query templates_v2_query[] = {
    {.name = "teamID"}, {.name = "limit"}, {.name = "nextToken"}, {.name = NULL}};
static const struct route_query page_query[] = {
    {.name = "limit"}, {.name = "nextToken"}, {.name = NULL}};
static const struct route_query events_query[] = {
    {.name = "offset"}, {.name = "limit"}, {.name = "orderAsc"}, {.name = "types"}, {.name = NULL}};
static const struct route_query token_query[] = {{.name = "token"}, {.name = NULL}};
static const struct route_query status_query[] = {
    {.name = "logsOffset"}, {.name = "limit"}, {.name = "level"}, {.name = NULL}};
static const struct route_query build_logs_query[] = {{.name = "cursor"},    {.name = "limit"},
                                                      {.name = "direction"}, {.name = "level"},
                                                      {.name = "source"},    {.name = NULL}};
static const struct route_query metrics_query[] = {{.name = "sandbox_ids"}, {.name = NULL}};

static const struct route_query path_query[] = {{.name = "path"}, {.name = NULL}};
static const struct route_query directory_query[] = {
    {.name = "path"}, {.name = "depth"}, {.name = NULL}};
static const struct route_query make_query[] = {{.name = "path"},  {.name = "uid"},
                                                {.name = "gid"},   {.name = "mode"},
                                                {.name = "force"}, {.name = NULL}};
static const struct route_query max_query[] = {
    {.name = "start"}, {.name = "end"}, {.name = "metric"}, {.name = NULL}};
/* For octets only: a JSON body is refused. */
static const struct schema_member no_schema[] = {{.name = NULL}};
#define ATTRIBUTE(name_, max_)                                         \
    {                                                                  \
        .name = name_, .type = SCHEMA_INTEGER, .min = 0, .max = (max_) \
    }
static const struct schema_member attributes_schema[] = {ATTRIBUTE("uid", VOLUME_OWNER_MAX),
                                                         ATTRIBUTE("gid", VOLUME_OWNER_MAX),
                                                         ATTRIBUTE("mode", 07777),
                                                         {.name = NULL}};
static const struct schema_member volume_schema[] = {
    {.name = "name", .type = SCHEMA_STRING, .required = true, .min = 1, .max = VOLUME_NAME_MAX},
    {.name = NULL}};

/* The plan's limit is checked with the sandbox. */
#define TIMEOUT(name_, least)                                                   \
    {                                                                           \
        .name = name_, .type = SCHEMA_INTEGER, .min = (least), .max = 31536000, \
    }
static const struct schema_member connect_schema[] = {
    TIMEOUT("timeout", 0), {.name = "memory", .type = SCHEMA_BOOLEAN}, {.name = NULL}};
static const struct schema_member timeout_schema[] = {
    {.name = "timeout", .type = SCHEMA_INTEGER, .required = true, .min = 0, .max = 31536000},
    {.name = NULL}};
static const struct schema_member refresh_schema[] = {TIMEOUT("duration", 0), {.name = NULL}};
static const struct schema_member pause_schema[] = {{.name = "memory", .type = SCHEMA_BOOLEAN},
                                                    {.name = NULL}};
static const struct schema_member template_schema[] = {{.name = "public", .type = SCHEMA_BOOLEAN},
                                                       {.name = NULL}};
static const struct schema_member tag_item = {
    .type = SCHEMA_STRING, .min = 1, .max = TEMPLATE_TAG_MAX};
#define TAGGING(name_)                                                              \
    {.name = name_, .type = SCHEMA_STRING, .required = true, .min = 1, .max = 200}, \
    {                                                                               \
        .name = "tags", .type = SCHEMA_ARRAY, .required = true, .min = 1,           \
        .max = TEMPLATE_TAGS_MAX, .item = &tag_item                                 \
    }
static const struct schema_member tags_assign_schema[] = {TAGGING("target"), {.name = NULL}};
static const struct schema_member tags_remove_schema[] = {TAGGING("name"), {.name = NULL}};
static const struct schema_member snapshot_schema[] = {
    {.name = "name", .type = SCHEMA_STRING, .min = 1, .max = 300}, {.name = NULL}};

static const struct route routes[] = {
#define ENDPOINT ENDPOINT_ROUTE
#include "endpoint/e2b_endpoints.def"
#undef ENDPOINT
};

/* Replace the sandboxID in the path by the sandbox's id. Old clients send <sandboxID>-<clientID>.
 * An unknown or invalid route token stays, and the later lookup refuses it. */
static int find_sandbox(struct api *api, struct http_request *request, struct error **err)
{
    char *given = request->captures[0];
    char id[ID_SIZE];
    error_auto missing = NULL;
    given[strcspn(given, "-")] = '\0';
    if (!route_token_is_valid(given))
        return 0;
    if (sandbox_id_of_route(api->worker.db, given, id, &missing) < 0)
        return missing->code == ERR_NOT_FOUND ? 0 : error_move(err, &missing);
    free(given);
    request->captures[0] = xstrdup(id);
    return 0;
}

static int authorize(void *context, const struct route *route, struct http_request *request,
                     struct error **err)
{
    struct api *api = context;
    autowipe char *token = route->any_type ? e2b_template_files_token(request) : NULL;
    if (token ? api_authorize_key(api, route, request, token, err) < 0
              : api_authorize(api, route, request, err) < 0)
        return -1;
    if (!route->handler)
        return error_set(err, ERR_NOT_SERVED, "This deployment does not serve %s.",
                         route->operation);
    if (route->subject != SUBJECT_SANDBOX)
        return 0;
    /* The share is that of the sandbox's team, and only the id shows the team. */
    return find_sandbox(api, request, err) < 0 ? -1 : api_take_share(api, request, false, err);
}

struct router e2b_router(struct api *api)
{
    return (struct router){
        .routes = routes,
        .count = ARRAY_SIZE(routes),
        /* New versions of E2B's packages may send members that this service does not know. */
        .ignore_unknown = true,
        .authorize = authorize,
        .invoke = api_invoke,
        .context = api,
    };
}

void e2b_serve(void *context, struct http_request *request, struct http_response *response)
{
    const struct router *router = context;
    api_begin(router->context);
    router_serve(router, request, response);
    e2b_answer_error(response);
}
