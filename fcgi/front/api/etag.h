/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records that clients can change have an ETag: a hash of the answer with the record. The hash
 * leaves out members that sandlot changes by itself, such as the state of a sandbox or the last
 * delivery of a webhook. A request with If-Match changes the record only if its ETag is still the
 * one that the client read (RFC 9110, section 13.1.1). With "If-None-Match: *" it only creates a
 * record (section 13.1.2). A change of a record without an ETag is refused with either header.
 */
#pragma once

#include "api/api.h"

/* Check the request's If-Match and If-None-Match before its handler changes the record. Conditional
 * changes of one record run one at a time: the next one waits for etag_end(). Errors:
 * ERR_PRECONDITION_FAILED, ERR_SANDBOX_BUSY (another change takes too long). */
int etag_begin(struct api *api, const struct route *route, struct http_request *request,
               struct error **err);
/* Let the next conditional change begin. Call it after the handler, whether that failed or not. */
void etag_end(struct api *api);

/* Add the ETag to the answer of a GET that shows such a record. */
void etag_add(const struct route *route, struct http_response *response);
