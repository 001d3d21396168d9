/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records that change carry an ETag, a hash of the answer that shows them. A change with If-Match is
 * made only if the record still is as the client has seen it (RFC 9110, section 13.1.1).
 */
#pragma once

#include "api/api.h"

/* Before the handler of a change. Of changes with If-Match of one record one runs at a time, up to
 * etag_end(). Errors: ERR_PRECONDITION_FAILED, ERR_SANDBOX_BUSY (another one takes too long). */
int etag_begin(struct api *api, const struct route *route, struct http_request *request,
               struct error **err);
/* After it, whatever came of it. */
void etag_end(struct api *api);

/* To the answer of a GET that shows such a record. */
void etag_add(const struct route *route, struct http_response *response);
