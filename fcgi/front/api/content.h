/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of a JSON body's member content_b64. */
#pragma once

#include "http/http.h"

struct content {
    char *data; /* the caller frees */
    size_t size, at;
};

/* Decode the member. The caller frees content->data, also after an error. Errors:
 * ERR_INVALID_REQUEST at /content_b64. */
int content_decode(const struct http_request *request, struct content *content, struct error **err);

/* Read the next bytes of a struct content (context), as from a request body. Returns 0 at the
 * end. */
long content_read(void *context, char *data, size_t size);
