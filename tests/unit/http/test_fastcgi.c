/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <errno.h>
#include <fastcgi.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/buffer.h"
#include "http/fastcgi.h"

#define BYTES_MAX (4u << 20)

/* A listening socket, and the side of nginx. */
struct fixture {
    char path[64];
    int listener, client;
    struct buffer sent;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(f->path, sizeof f->path, "/tmp/test_fastcgi.%d", (int)getpid());
    strcpy(address.sun_path, f->path);
    unlink(f->path);
    f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    f->client = socket(AF_UNIX, SOCK_STREAM, 0);
    buffer_init(&f->sent, BYTES_MAX);
    *state = f;
    return bind(f->listener, (struct sockaddr *)&address, sizeof address) == 0 &&
                   listen(f->listener, 4) == 0 &&
                   connect(f->client, (struct sockaddr *)&address, sizeof address) == 0
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    if (f->client >= 0)
        close(f->client);
    close(f->listener);
    unlink(f->path);
    buffer_deinit(&f->sent);
    free(f);
    return 0;
}

static void record(struct fixture *f, unsigned type, unsigned id, const void *data, size_t size,
                   size_t padding)
{
    const unsigned char head[] = {FCGI_VERSION_1,
                                  (unsigned char)type,
                                  (unsigned char)(id >> 8),
                                  (unsigned char)id,
                                  (unsigned char)(size >> 8),
                                  (unsigned char)size,
                                  (unsigned char)padding,
                                  0};
    buffer_append(&f->sent, head, sizeof head);
    buffer_append(&f->sent, data, size);
    buffer_append(&f->sent, "........", padding);
}

static void begin(struct fixture *f, unsigned role)
{
    const unsigned char body[8] = {0, (unsigned char)role};
    record(f, FCGI_BEGIN_REQUEST, 1, body, sizeof body, 0);
}

static void send_all(struct fixture *f)
{
    assert_int_equal(send(f->client, f->sent.data, f->sent.size, 0), f->sent.size);
    buffer_clear(&f->sent);
}

static const char pairs[] = "\x06\x03METHODGET\x05\x00"
                            "EMPTY";
#define PAIRS pairs, sizeof pairs - 1

/* What the worker answers until it closes. */
static size_t receive_all(struct fixture *f, unsigned char *data, size_t size)
{
    size_t got = 0;
    ssize_t more;
    while ((more = recv(f->client, data + got, size - got, 0)) > 0)
        got += (size_t)more;
    assert_int_equal(more, 0);
    return got;
}

static void test_a_request_without_a_body(void **state)
{
    struct fixture *f = *state;
    unsigned char answer[256];
    begin(f, FCGI_RESPONDER);
    record(f, FCGI_PARAMS, 1, PAIRS, 3);
    record(f, FCGI_PARAMS, 1, NULL, 0, 0);
    record(f, FCGI_STDIN, 1, NULL, 0, 0);
    send_all(f);
    struct fastcgi *request = fastcgi_accept(f->listener);
    assert_non_null(request);
    char **parameters = fastcgi_parameters(request);
    assert_string_equal(parameters[0], "METHOD=GET");
    assert_string_equal(parameters[1], "EMPTY=");
    assert_null(parameters[2]);
    fastcgi_write_last(request, "hello", 5);
    fastcgi_free(request);
    assert_int_equal(receive_all(f, answer, sizeof answer), 8 + 5 + 8 + 16);
    assert_int_equal(answer[1], FCGI_STDOUT);
    assert_memory_equal(answer + 8, "hello", 5);
    assert_int_equal(answer[13 + 1], FCGI_STDOUT);
    assert_int_equal(answer[21 + 1], FCGI_END_REQUEST);
    assert_null(fastcgi_accept(f->listener));
    assert_int_equal(errno, EAGAIN);
}

/* A name or value from 128 bytes on has a length of four bytes. */
static void test_long_parameters_in_pieces(void **state)
{
    struct fixture *f = *state;
    char text[4 + 1 + 1 + 70000];
    memcpy(text, "\x01\x80\x01\x11\x70N", 6);
    memset(text + 6, 'v', 70000);
    begin(f, FCGI_RESPONDER);
    for (size_t at = 0; at < sizeof text; at += 1000)
        record(f, FCGI_PARAMS, 1, text + at, sizeof text - at < 1000 ? sizeof text - at : 1000, 8);
    record(f, FCGI_PARAMS, 1, NULL, 0, 0);
    send_all(f);
    struct fastcgi *request = fastcgi_accept(f->listener);
    assert_non_null(request);
    assert_int_equal(strlen(fastcgi_parameters(request)[0]), 2 + 70000);
    close(f->client);
    f->client = -1;
    fastcgi_free(request);
}

static void test_a_body_in_pieces(void **state)
{
    struct fixture *f = *state;
    char body[40000], *large = malloc(60000);
    size_t got = 0;
    memset(large, 'x', 60000);
    begin(f, FCGI_RESPONDER);
    record(f, FCGI_PARAMS, 1, NULL, 0, 0);
    record(f, FCGI_STDIN, 1, "abc", 3, 5);
    send_all(f);
    struct fastcgi *request = fastcgi_accept(f->listener);
    assert_non_null(request);
    assert_null(fastcgi_parameters(request)[0]);
    assert_int_equal(fastcgi_read(request, body, 2, 0), 2);
    assert_int_equal(fastcgi_read(request, body, 2, 0), 1);
    assert_int_equal(fastcgi_read(request, body, 2, 0), -1); /* nothing has come */
    record(f, FCGI_STDIN, 1, large, 60000, 0);
    record(f, FCGI_STDIN, 1, NULL, 0, 0);
    send_all(f);
    for (long more; (more = fastcgi_read(request, body, sizeof body, 1000)) > 0;
         got += (size_t)more)
        assert_memory_equal(body, large, (size_t)more);
    assert_int_equal(got, 60000);
    assert_true(fastcgi_body_is_over(request));
    fastcgi_write_last(request, NULL, 0);
    fastcgi_free(request);
    assert_int_equal(receive_all(f, (unsigned char *)body, sizeof body), 8 + 16);
    free(large);
}

static void test_an_answer_of_many_records(void **state)
{
    struct fixture *f = *state;
    struct fastcgi *request;
    const size_t size = 150000;
    char *sent = malloc(size);
    unsigned char *answer = malloc(2 * size);
    memset(sent, 's', size);
    begin(f, FCGI_RESPONDER);
    record(f, FCGI_PARAMS, 1, NULL, 0, 0);
    record(f, FCGI_STDIN, 1, NULL, 0, 0);
    send_all(f);
    assert_non_null(request = fastcgi_accept(f->listener));
    assert_int_equal(fastcgi_write(request, sent, 10), 0);
    fastcgi_write_last(request, sent, size);
    fastcgi_free(request);
    size_t got = receive_all(f, answer, 2 * size), content = 0, last = 0;
    for (size_t at = 0; at < got; at += 8 + last) {
        last = (size_t)answer[at + 4] << 8 | answer[at + 5];
        content += answer[at + 1] == FCGI_STDOUT ? last : 0;
    }
    assert_int_equal(content, size + 10);
    free(answer);
    free(sent);
}

/* Whether a worker is there is asked with a record of no known type. */
static void test_management(void **state)
{
    struct fixture *f = *state;
    unsigned char answer[16];
    record(f, 0xff, 0, NULL, 0, 0);
    send_all(f);
    shutdown(f->client, SHUT_WR);
    assert_null(fastcgi_accept(f->listener));
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(receive_all(f, answer, sizeof answer), 16);
    assert_int_equal(answer[1], FCGI_UNKNOWN_TYPE);
    assert_int_equal(answer[8], 0xff);
}

static void expect_none(struct fixture *f)
{
    send_all(f);
    shutdown(f->client, SHUT_WR);
    assert_null(fastcgi_accept(f->listener));
    assert_int_equal(errno, EAGAIN);
}

static void test_what_is_no_responder(void **state)
{
    struct fixture *f = *state;
    begin(f, FCGI_AUTHORIZER);
    record(f, FCGI_PARAMS, 1, NULL, 0, 0);
    expect_none(f);
}

static void test_a_cut_head(void **state)
{
    struct fixture *f = *state;
    begin(f, FCGI_RESPONDER);
    record(f, FCGI_PARAMS, 1, PAIRS, 0);
    expect_none(f);
}

static void test_a_pair_past_the_end(void **state)
{
    struct fixture *f = *state;
    begin(f, FCGI_RESPONDER);
    record(f, FCGI_PARAMS, 1, "\x05\x05NAME", 6, 0);
    record(f, FCGI_PARAMS, 1, NULL, 0, 0);
    expect_none(f);
}

static void test_another_version(void **state)
{
    struct fixture *f = *state;
    buffer_append(&f->sent, "GET / HTTP/1.1\r\n\r\n", 18);
    expect_none(f);
}

static void test_a_body_that_breaks_off(void **state)
{
    struct fixture *f = *state;
    char body[8];
    begin(f, FCGI_RESPONDER);
    record(f, FCGI_PARAMS, 1, NULL, 0, 0);
    record(f, FCGI_STDIN, 1, "abc", 3, 0);
    send_all(f);
    struct fastcgi *request = fastcgi_accept(f->listener);
    assert_non_null(request);
    close(f->client);
    f->client = -1;
    assert_int_equal(fastcgi_read(request, body, sizeof body, 1000), 3);
    assert_int_equal(fastcgi_read(request, body, sizeof body, 1000), -1);
    assert_false(fastcgi_body_is_over(request));
    assert_int_equal(fastcgi_write(request, "late", 4), -1);
    fastcgi_free(request);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_request_without_a_body),
        TEST(test_long_parameters_in_pieces),
        TEST(test_a_body_in_pieces),
        TEST(test_an_answer_of_many_records),
        TEST(test_management),
        TEST(test_what_is_no_responder),
        TEST(test_a_cut_head),
        TEST(test_a_pair_past_the_end),
        TEST(test_another_version),
        TEST(test_a_body_that_breaks_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
