/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "agent/relay_head.h"

static ssize_t parse(const char *text, struct relay_head *head)
{
    return relay_head_parse(text, strlen(text), head);
}

TEST(finds_our_lines)
{
    struct relay_head head;
    const char *text = "GET / HTTP/1.1\r\nHost: x\r\nx-sandlot-PORT:\t8080 \r\n"
                       "X-Sandlot-Agent-Secret: abc\r\nX-Sandlot-Portal: 1\r\n\r\nbody";
    assert_int_equal(parse(text, &head), strlen(text) - 4);
    assert_int_equal(head.port, 8080);
    assert_int_equal(head.secret_size, 3);
    assert_memory_equal(head.secret, "abc", 3);
}

TEST(waits_for_the_whole_head)
{
    struct relay_head head;
    const char *text = "GET / HTTP/1.1\r\nX-Sandlot-Port: 80\r\n\r\n";
    for (size_t size = 0; size < strlen(text); size++)
        assert_int_equal(relay_head_parse(text, size, &head), 0);
    assert_int_equal(parse(text, &head), strlen(text));
}

TEST(refuses_doubtful_heads)
{
    struct relay_head head;
    static const char *const cases[] = {
        "GET / HTTP/1.1\r\nX-Sandlot-Port: 80\r\nX-Sandlot-Port: 81\r\n\r\n",
        "GET / HTTP/1.1\r\nX-Sandlot-Agent-Secret: a\r\nX-Sandlot-Agent-Secret: b\r\n\r\n",
        "GET / HTTP/1.1\r\nX-Sandlot-Agent-Secret: a\r\n b\r\n\r\n",
        "GET / HTTP/1.1\r\nX-Sandlot-Port: 0\r\n\r\n",
        "GET / HTTP/1.1\r\nX-Sandlot-Port: 65536\r\n\r\n",
        "GET / HTTP/1.1\r\nX-Sandlot-Port: 080\r\n\r\n",
        "GET / HTTP/1.1\r\nX-Sandlot-Port: 80, 81\r\n\r\n",
        "GET / HTTP/1.1\r\nX-Sandlot-Port:\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(parse(cases[i], &head), -1);
    assert_true(parse("GET / HTTP/1.1\r\nHost: x\r\n\r\n", &head) > 0);
    assert_int_equal(head.port, 0);
    assert_null(head.secret);
}

TEST(strips_our_lines)
{
    struct relay_head head;
    char text[] = "GET / HTTP/1.1\r\nX-Sandlot-Agent-Secret: abc\r\nHost: x\r\n"
                  "X-Sandlot-Port: 80\r\n\r\nX-Sandlot-Port: in the body";
    size_t size = strlen(text);
    ssize_t head_size = parse(text, &head);
    assert_true(head_size > 0);
    size_t left = relay_head_strip(text, (size_t)head_size, size);
    const char *expected = "GET / HTTP/1.1\r\nHost: x\r\n\r\nX-Sandlot-Port: in the body";
    assert_int_equal(left, strlen(expected));
    assert_memory_equal(text, expected, left);
    for (size_t i = left; i < size; i++)
        assert_int_equal(text[i], 0);
}

TEST(finds_where_an_answer_begins)
{
    static const struct {
        const char *text;
        int begins;
        size_t interim;
    } cases[] = {
        {"", 0, 0},
        {"HTTP/1.1 20", 0, 0},
        {"HTTP/1.1 200", 0, 0},
        {"HTTP/1.1 200\r", 1, 0},
        {"HTTP/1.0   404 x", 1, 0},
        {"HTTP/1.1 101 x", 1, 0},
        {"HTTP/1.1 103 x\r\nA: b\r\n", 0, 0},
        {"HTTP/1.1 103 x\r\nA: b\r\n\r\n", 0, 24},
        {"HTTP/1.1 103 x\n\nHTTP/1.1 100 x\r\n\r\nHTTP/1.1 200 OK", 1, 34},
        {"HTTP/1.1 103 x\n\nnothing", -1, 16},
        {"HTTP/2.0 200 OK", -1, 0},
        {"HTTP/1.1 099 OK", -1, 0},
        {"HTTP/1.1 2x0 OK", -1, 0},
        {"HTTP/1.1 2000", -1, 0},
        {"http/1.1 200 OK", -1, 0},
        {"SSH-2.0-x\r\n", -1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t interim;
        int begins = relay_answer_begins(cases[i].text, strlen(cases[i].text), &interim);
        assert_int_equal(begins, cases[i].begins);
        assert_int_equal(interim, cases[i].interim);
    }
}
