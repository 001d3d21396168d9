/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find the principal and the object of a request, before its handler runs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"

/* Authenticate the request and check the key's scope, as a hook of the router. Fills in the
 * principal. For a key that this worker knows, the principal may be presumed until access_settle()
 * has confirmed it. Errors: ERR_UNAUTHORIZED, ERR_INSUFFICIENT_SCOPE. */
int api_authorize(void *context, const struct route *route, struct http_request *request,
                  struct error **err);

/* Authorize with a key that is not in the headers. Otherwise like api_authorize(). */
int api_authorize_key(struct api *api, const struct route *route, struct http_request *request,
                      const char *key, struct error **err);

/* How a transfer of a volume's bytes sees that its client's access has ended. */
struct access_watch {
    struct api *api;
    const struct http_request *request;
    bool writes;
    int64_t next_ms;     /* of the next look; 0: nothing has moved yet */
    struct error *ended; /* NULL: not ended; the caller frees */
};

/* Return whether the client still has access to the volume of the request. Call it for each piece
 * of the transfer; it reads the rights every two seconds, first after two seconds. When it cannot
 * read them, they count as unchanged. */
bool access_lasts(struct access_watch *watch);

/* Load the object of the request by the route's subject. Check that the principal reaches its team,
 * and that the user's role there is enough. Objects of other teams are treated as missing. Deleted
 * rows are loaded too, because a replay may return one. Errors: ERR_NOT_FOUND, ERR_TEAM_FORBIDDEN,
 * ERR_INSUFFICIENT_SCOPE. */
int access_settle(struct api *api, const struct route *route, struct http_request *request,
                  struct error **err);

/* Return the team of the loaded object, borrowed. "": nothing was loaded; NULL: the route has no
 * single team. */
const char *access_team_id(const struct access *access, const struct route *route);

/* Check that the loaded object still exists for clients. Errors: ERR_NOT_FOUND. */
int access_check_shown(const struct api *api, const struct route *route, struct error **err);

/* Load the object that an earlier attempt with the claimed Idempotency-Key made, if it still
 * exists. Errors: ERR_REQUEST_IN_PROGRESS while it is not ready. */
int access_load_made(struct api *api, struct error **err);

void access_deinit(struct access *access);
