/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hash the body of an upload while its handler reads it, piece by piece. */
#pragma once

#include <sodium.h>

#include "http/http.h"

#define STREAMED_BODY_HASH_SIZE (2 * crypto_generichash_BYTES + 1)

struct streamed_body {
    struct http_request *request; /* NULL: its body is in memory */
    long (*read)(void *context, char *data, size_t size);
    void *context;
    crypto_generichash_state hash;
};

/* Hash what is read from now on, until streamed_body_end(). A body in memory has no hash. */
void streamed_body_begin(struct streamed_body *body, struct http_request *request);
void streamed_body_end(struct streamed_body *body);

/* Read the rest of the body, without keeping it. Returns -1 when it was cut off, or came too
 * slowly. */
int streamed_body_read(struct streamed_body *body, struct error **err);

/* Return the hash of the whole body in hexadecimal, or NULL for a body in memory. To be called
 * once. */
const char *streamed_body_hash(struct streamed_body *body, char text[STREAMED_BODY_HASH_SIZE]);
