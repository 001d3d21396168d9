/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Idempotency-Key: claim the key, run the handler, and keep its answer; or replay the kept
 * answer. */
#pragma once

#include "api/api.h"

/* Settle access, then run the handler or replay its stored answer: a hook of the router around
 * every handler. */
int api_invoke(void *context, const struct route *route, struct http_request *request,
               struct http_response *response, struct error **err);
