/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What single handlers read ahead; for ahead.c, where it says when. Each sets api->ahead and the
 * access revision, or only the latter. */
#pragma once

#include "api/api.h"

typedef int ahead_look(struct api *api, const struct http_request *request, uint64_t *revision,
                       struct error **err);

ahead_look me_look, limits_look, sandboxes_look;
