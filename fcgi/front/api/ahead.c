/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/ahead.h"

#include <stdlib.h>

#include "account/access_revision.h"
#include "base/mem.h"

int api_look_ahead(struct api *api, const struct route *route, const struct http_request *request,
                   uint64_t *revision, struct error **err)
{
    static const struct {
        route_handler *handler;
        ahead_look *look;
    } rows[] = {{me_show, me_look}, {limits_show, limits_look}, {sandboxes_list, sandboxes_look}};
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].handler == route->handler)
            return rows[i].look(api, request, revision, err);
    return access_revision_get(api->worker.db, revision, err);
}

void ahead_deinit(struct ahead *ahead)
{
    free(ahead->listed);
    *ahead = (struct ahead){0};
}
