/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/streamed_body.h"

#define PIECE 65536

static long read_hashed(void *context, char *data, size_t size)
{
    struct streamed_body *body = context;
    long got = body->read(body->context, data, size);
    if (got > 0)
        crypto_generichash_update(&body->hash, (const unsigned char *)data, (size_t)got);
    return got;
}

void streamed_body_begin(struct streamed_body *body, struct http_request *request)
{
    body->request = request->read_body ? request : NULL;
    if (!body->request)
        return;
    body->read = request->read_body;
    body->context = request->body_context;
    crypto_generichash_init(&body->hash, NULL, 0, crypto_generichash_BYTES);
    request->read_body = read_hashed;
    request->body_context = body;
}

void streamed_body_end(struct streamed_body *body)
{
    if (!body->request)
        return;
    body->request->read_body = body->read;
    body->request->body_context = body->context;
}

int streamed_body_read(struct streamed_body *body, struct error **err)
{
    char piece[PIECE];
    long got = 0;
    while (body->request && (got = read_hashed(body, piece, sizeof piece)) > 0)
        ;
    if (got == 0)
        return 0;
    if (body->request->body_too_slow)
        return http_body_too_slow(err);
    return error_set(err, ERR_INVALID_REQUEST, "The request body was cut off before its end.");
}

const char *streamed_body_hash(struct streamed_body *body, char text[STREAMED_BODY_HASH_SIZE])
{
    unsigned char hash[crypto_generichash_BYTES];
    if (!body->request)
        return NULL;
    crypto_generichash_final(&body->hash, hash, sizeof hash);
    return sodium_bin2hex(text, STREAMED_BODY_HASH_SIZE, hash, sizeof hash);
}
