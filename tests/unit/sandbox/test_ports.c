/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "sandbox/request_host.h"
#include "sandbox/sandbox_ports.h"

static void assert_text(const struct sandbox *sandbox, const char *expected)
{
    char text[SANDBOX_PORTS_TEXT_SIZE];
    struct sandbox read = {0};
    assert_string_equal(sandbox_ports_to_text(sandbox, text), expected);
    sandbox_ports_of_text(expected, &read);
    assert_int_equal(read.port_count, sandbox->port_count);
    for (unsigned i = 0; i < read.port_count; i++) {
        assert_int_equal(read.ports[i].port, sandbox->ports[i].port);
        assert_int_equal(read.ports[i].is_public, sandbox->ports[i].is_public);
        assert_int_equal(read.ports[i].is_https, sandbox->ports[i].is_https);
    }
}

TEST(they_are_kept_by_number)
{
    struct sandbox sandbox = {0};
    assert_text(&sandbox, "");
    assert_false(sandbox_port_remove(&sandbox, 3000));
    assert_true(sandbox_port_add(&sandbox, (struct exposed_port){3000, true, false}));
    assert_true(sandbox_port_add(&sandbox, (struct exposed_port){80, false, false}));
    assert_true(sandbox_port_add(&sandbox, (struct exposed_port){65535, true, true}));
    assert_text(&sandbox, "80/0,3000/1,65535/3");
    assert_true(sandbox_port_add(&sandbox, (struct exposed_port){3000, false, true}));
    assert_text(&sandbox, "80/0,3000/2,65535/3");
    assert_int_equal(sandbox_port(&sandbox, 80)->port, 80);
    assert_null(sandbox_port(&sandbox, 81));
    assert_true(sandbox_port_remove(&sandbox, 80));
    assert_false(sandbox_port_remove(&sandbox, 80));
    assert_text(&sandbox, "3000/2,65535/3");
}

TEST(as_many_as_there_may_be)
{
    struct sandbox sandbox = {0};
    char text[SANDBOX_PORTS_TEXT_SIZE];
    for (unsigned i = 0; i < SANDBOX_PORTS_MAX; i++)
        assert_true(
            sandbox_port_add(&sandbox, (struct exposed_port){(uint16_t)(65535 - i), true, true}));
    assert_false(sandbox_port_add(&sandbox, (struct exposed_port){1, true, false}));
    assert_true(sandbox_port_add(&sandbox, (struct exposed_port){65535, false, false}));
    assert_int_equal(strlen(sandbox_ports_to_text(&sandbox, text)), SANDBOX_PORTS_MAX * 8 - 1);
    /* The column of the table. */
    assert_in_range(strlen(text), 1, 1600);
}

TEST(images_expose_ports)
{
    static const struct {
        const char *list;
        unsigned most;
        const char *text;
    } cases[] = {
        {"[\"80/tcp\", \"81\"]", 100, "80/0,81/0"},
        {"[\"443/tcp\", \"53/udp\", \"9/sctp\", \"22/tcp\", \"8000-8002/tcp\"]", 100,
         "443/2,3000/1,8000/0,8001/0,8002/0"},
        {"[\"1-65535/tcp\"]", 4, "1/0,2/0,3/0,3000/1"},
        {"[\"0/tcp\", \"65536/tcp\", \"9-8/tcp\", \"a/tcp\", \"80/\", \"-/tcp\", 7, null]", 100,
         "3000/1"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct sandbox sandbox = {.id = ""};
        char text[SANDBOX_PORTS_TEXT_SIZE];
        json_auto_t *list = json_loads(cases[i].list, 0, NULL);
        assert_non_null(list);
        if (i)
            sandbox_port_add(&sandbox, (struct exposed_port){3000, true, false});
        sandbox_ports_of_image(list, cases[i].most, &sandbox);
        assert_string_equal(sandbox_ports_to_text(&sandbox, text), cases[i].text);
    }
}

TEST(hosts_that_servers_see)
{
    static const char *const good[] = {"localhost",       "localhost:${PORT}", "a_b.example:8080",
                                       "${PORT}.example", "127.0.0.1:1",       "p${PORT}"};
    static const char *const bad[] = {"",          "a b",           "localhost:", "localhost:0",
                                      "a:65536",   "${port}",       "a/b",        ":80",
                                      "a\r\nX: y", "${PORT}${PORT}"};
    struct sandbox sandbox = {.request_host = "localhost:${PORT}"};
    char text[SANDBOX_HOST_SIZE], longest[SANDBOX_HOST_SIZE];
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        assert_true(request_host_is_valid(good[i]));
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_false(request_host_is_valid(bad[i]));
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_true(request_host_is_valid(longest));
    assert_string_equal(request_host_of(&sandbox, 3000, text), "localhost:3000");
    sandbox.request_host[0] = '\0';
    assert_string_equal(request_host_of(&sandbox, 3000, text), "");
}
