/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes that a body of JSON brings along, in its member content_b64. */
#pragma once

#include "http/http.h"

struct content {
    char *data; /* the caller frees */
    size_t size, at;
};

/* Errors: ERR_INVALID_REQUEST at /content_b64. */
int content_decode(const struct http_request *request, struct content *content, struct error **err);

/* The next bytes of a struct content, as those of a body are read; 0: there are no more. */
long content_read(void *context, char *data, size_t size);
