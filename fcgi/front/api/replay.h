/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Idempotency-Key around the handlers: claim, run, keep the answer; or give the kept one again. */
#pragma once

#include "api/api.h"

/* Router hook around every handler: access is settled, then the handler runs or its kept answer is
 * given again. */
int api_invoke(void *context, const struct route *route, struct http_request *request,
               struct http_response *response, struct error **err);
