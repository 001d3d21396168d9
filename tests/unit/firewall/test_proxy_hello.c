/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "firewall/proxy_hello.h"

#define TARGET 0xcb007107u /* 203.0.113.7 */

static struct proxy_hello hello_of(bool is_http, const char *username)
{
    return (struct proxy_hello){.is_http = is_http,
                                .address = TARGET,
                                .port = 443,
                                .username = xstrdup_or_null(username),
                                .password = xstrdup_or_null(username ? "secret" : NULL)};
}

/* Give an answer byte by byte, and compare what the proxy gets for it. */
static enum proxy_result answer(struct proxy_hello *hello, const char *bytes, size_t size,
                                const char *wanted, size_t wanted_size)
{
    buffer_auto out = BUFFER_INIT(PROXY_HELLO_MAX);
    enum proxy_result result = PROXY_MORE;
    size_t used;
    for (size_t i = 0; i < size && result == PROXY_MORE; i++)
        result = proxy_hello_take(hello, (const uint8_t *)bytes + i, 1, &used, &out);
    assert_int_equal(out.size, wanted_size);
    if (wanted_size)
        assert_memory_equal(out.data, wanted, wanted_size);
    return result;
}

#define ANSWER(hello, bytes, wanted) \
    answer(hello, bytes, sizeof(bytes) - 1, wanted, sizeof(wanted) - 1)

TEST(socks_sends_the_password_and_the_address)
{
    struct proxy_hello hello = hello_of(false, "me");
    buffer_auto out = BUFFER_INIT(PROXY_HELLO_MAX);
    proxy_hello_begin(&hello, &out);
    assert_int_equal(out.size, 3);
    assert_memory_equal(out.data, "\5\1\2", 3);
    assert_int_equal(ANSWER(&hello, "\5\2", "\1\2me\6secret"), PROXY_MORE);
    assert_int_equal(ANSWER(&hello, "\1\0", "\5\1\0\1\xcb\0\x71\7\1\xbb"), PROXY_MORE);
    assert_int_equal(ANSWER(&hello, "\5\0\0\3\4name\0", ""), PROXY_MORE);
    assert_int_equal(ANSWER(&hello, "\0", ""), PROXY_OPEN);
    proxy_hello_deinit(&hello);
}

TEST(socks_without_a_password)
{
    struct proxy_hello hello = hello_of(false, NULL);
    buffer_auto out = BUFFER_INIT(PROXY_HELLO_MAX);
    size_t used;
    proxy_hello_begin(&hello, &out);
    assert_memory_equal(out.data, "\5\1\0", 3);
    assert_int_equal(ANSWER(&hello, "\5\0", "\5\1\0\1\xcb\0\x71\7\1\xbb"), PROXY_MORE);
    assert_int_equal(
        proxy_hello_take(&hello, (const uint8_t *)"\5\0\0\1\0\0\0\0\0\0SSH-2.0", 17, &used, &out),
        PROXY_OPEN);
    assert_int_equal(used, 10);
}

TEST(socks_refusals)
{
    static const struct {
        const char *bytes;
        size_t size;
    } answers[] = {{"\5\xff", 2},
                   {"\5\0", 2},
                   {"\4\2", 2},
                   {"\5\2\1\1", 4},
                   {"\5\2\5\0", 4},
                   {"\5\2\1\0\5\5\0\1\0", 9},
                   {"\5\2\1\0\5\0\0\2\0", 9},
                   {"HTTP/1.1", 8}};
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        struct proxy_hello hello = hello_of(false, "me");
        buffer_auto out = BUFFER_INIT(PROXY_HELLO_MAX);
        size_t used;
        proxy_hello_begin(&hello, &out);
        assert_int_equal(proxy_hello_take(&hello, (const uint8_t *)answers[i].bytes,
                                          answers[i].size, &used, &out),
                         PROXY_REFUSED);
        assert_non_null(hello.reason);
        proxy_hello_deinit(&hello);
    }
}

TEST(connect_sends_the_password_and_keeps_the_rest)
{
    static const char bytes[] = "HTTP/1.0 200 OK\r\nX: y\r\n\r\nSSH-2.0";
    struct proxy_hello hello = hello_of(true, "me");
    buffer_auto out = BUFFER_INIT(PROXY_HELLO_MAX);
    size_t used;
    proxy_hello_begin(&hello, &out);
    assert_string_equal(buffer_string(&out),
                        "CONNECT 203.0.113.7:443 HTTP/1.1\r\nHost: 203.0.113.7:443\r\n"
                        "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n\r\n");
    assert_int_equal(
        proxy_hello_take(&hello, (const uint8_t *)bytes, sizeof bytes - 1, &used, &out),
        PROXY_OPEN);
    assert_string_equal(bytes + used, "SSH-2.0");
    proxy_hello_deinit(&hello);
}

TEST(connect_refusals)
{
    static const char *const answers[] = {"HTTP/1.1 407 no\r\n\r\n", "HTTP/1.1 301 x\r\n\r\n",
                                          "HTTP/2 200\r\n\r\n", "220 mail\r\n",
                                          "HTTP/1.12200 OK\r\n\r\n"};
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        struct proxy_hello hello = hello_of(true, NULL);
        buffer_auto out = BUFFER_INIT(PROXY_HELLO_MAX);
        proxy_hello_begin(&hello, &out);
        assert_int_equal(answer(&hello, answers[i], strlen(answers[i]), "", 0), PROXY_REFUSED);
    }
}

TEST(an_answer_without_an_end_is_given_up)
{
    struct proxy_hello hello = hello_of(true, NULL);
    buffer_auto out = BUFFER_INIT(PROXY_HELLO_MAX);
    size_t total = 0, used;
    proxy_hello_begin(&hello, &out);
    enum proxy_result result = ANSWER(&hello, "HTTP/1.1 200 OK\r\n", "");
    for (; result == PROXY_MORE && total < 2 * PROXY_ANSWER_MAX; total += 10)
        result = proxy_hello_take(&hello, (const uint8_t *)"X-More: y\n", 10, &used, &out);
    assert_int_equal(result, PROXY_REFUSED);
    assert_in_range(total, PROXY_ANSWER_MAX - 40, PROXY_ANSWER_MAX);
}
