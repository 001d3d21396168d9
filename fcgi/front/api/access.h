/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who asks, and about what: settled once, before a handler runs. */
#pragma once

#include "api/api.h"

/* Router hook: who asks, and may they? Fills in the principal; of a key that this worker knows it
 * may be presumed until access_settle() has confirmed it. Errors: ERR_UNAUTHORIZED,
 * ERR_INSUFFICIENT_SCOPE. */
int api_authorize(void *context, const struct route *route, struct http_request *request,
                  struct error **err);

/* The same with a key that the request carries elsewhere. */
int api_authorize_key(struct api *api, const struct route *route, struct http_request *request,
                      const char *key, struct error **err);

/* Load what the request is about, as the route's subject says, if this key reaches its team; a row
 * that is deleted too, since a replay may speak of it. What exists in a team out of reach does not
 * exist. And whether the user's role there is enough for the route. Errors: ERR_NOT_FOUND,
 * ERR_TEAM_FORBIDDEN, ERR_INSUFFICIENT_SCOPE. */
int access_settle(struct api *api, const struct route *route, struct http_request *request,
                  struct error **err);

/* The team of what was loaded, borrowed; "": nothing was loaded; NULL: there is no one team. */
const char *access_team_id(const struct access *access, const struct route *route);

/* Whether what was loaded is still there, as far as anyone can see. Errors: ERR_NOT_FOUND. */
int access_check_shown(const struct api *api, const struct route *route, struct error **err);

/* With a claimed Idempotency-Key: load what an earlier attempt made, if it is still there. Errors:
 * ERR_REQUEST_IN_PROGRESS when it is not ready yet. */
int access_load_made(struct api *api, struct error **err);

void access_deinit(struct access *access);
