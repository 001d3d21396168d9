/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The egress proxy that new sandboxes of a team get. */
#include "secret/team_proxy.h"
#include "api/api.h"
#include "network/egress_proxy.h"

const struct schema_member team_proxy_schema[] = {
    {.name = "team", .type = SCHEMA_STRING, .min = 1, .max = 63},
    {.name = EGRESS_PROXY,
     .type = SCHEMA_OBJECT,
     .required = true,
     .nullable = true,
     .members = egress_proxy_members},
    {.name = NULL},
};

static int answer(struct api *api, struct http_response *response, struct error **err)
{
    json_t *proxy;
    if (team_proxy_get(api->worker.db, api->access.team->id, &proxy, err) < 0)
        return -1;
    return http_response_json(
        response, 200,
        json_pack("{s:s, s:o?}", "team", api->access.team->slug, EGRESS_PROXY, proxy));
}

int team_proxy_show(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    (void)request;
    return answer(context, response, err);
}

int team_proxy_replace(void *context, struct http_request *request, struct http_response *response,
                       struct error **err)
{
    struct api *api = context;
    const json_t *proxy = json_object_get(request->json, EGRESS_PROXY);
    if (team_proxy_put(api->worker.db, api->access.team->id, json_is_object(proxy) ? proxy : NULL,
                       err) < 0)
        return -1;
    return answer(api, response, err);
}
