/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "api/streamed_body.h"

/* A body that comes in pieces of so many bytes. */
struct source {
    const char *text;
    size_t piece;
    bool breaks; /* instead of an end */
};

static long read_piece(void *context, char *data, size_t size)
{
    struct source *source = context;
    size_t left = strlen(source->text), got = source->piece < left ? source->piece : left;
    if (!left)
        return source->breaks ? -1 : 0;
    got = got < size ? got : size;
    memcpy(data, source->text, got);
    source->text += got;
    return (long)got;
}

static void begin(struct streamed_body *body, struct http_request *request, struct source *source)
{
    *request = (struct http_request){.read_body = read_piece, .body_context = source};
    streamed_body_begin(body, request);
}

static void hash_of(const char *text, size_t piece, char hash[STREAMED_BODY_HASH_SIZE])
{
    struct error *err = NULL;
    struct streamed_body body;
    struct http_request request;
    struct source source = {text, piece, false};
    char data[3];
    begin(&body, &request, &source);
    /* The handler reads a part of the body. */
    assert_true(request.read_body(request.body_context, data, sizeof data) > 0);
    assert_memory_equal(data, text, 1);
    assert_ok(streamed_body_read(&body, &err));
    assert_string_equal(source.text, "");
    assert_ptr_equal(streamed_body_hash(&body, hash), hash);
    streamed_body_end(&body);
    assert_ptr_equal(request.read_body, read_piece);
    assert_ptr_equal(request.body_context, &source);
}

TEST(a_hash_is_that_of_the_bytes)
{
    char first[STREAMED_BODY_HASH_SIZE], second[STREAMED_BODY_HASH_SIZE];
    hash_of("the same bytes", 5, first);
    hash_of("the same bytes", 1, second);
    assert_string_equal(first, second);
    hash_of("the same bytez", 5, second);
    assert_string_not_equal(first, second);
}

TEST(a_body_that_is_cut_off_is_refused)
{
    struct error *err = NULL;
    struct streamed_body body;
    struct http_request request;
    struct source source = {"half", 2, true};
    begin(&body, &request, &source);
    assert_fails_saying(streamed_body_read(&body, &err), ERR_INVALID_REQUEST, "cut off");
    request.body_too_slow = true;
    assert_fails_saying(streamed_body_read(&body, &err), ERR_BODY_TOO_SLOW, "slowly");
    streamed_body_end(&body);
}

TEST(a_body_in_memory_has_no_hash)
{
    struct error *err = NULL;
    struct streamed_body body;
    struct http_request request = {.read_body = NULL};
    char hash[STREAMED_BODY_HASH_SIZE];
    streamed_body_begin(&body, &request);
    assert_ok(streamed_body_read(&body, &err));
    assert_null(streamed_body_hash(&body, hash));
    streamed_body_end(&body);
    assert_null(request.read_body);
}
