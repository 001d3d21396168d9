/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "network/egress_rule.h"

#define HOST "api.example.com"

static const char *decide(const char *rules, struct egress_request request)
{
    static char *kept;
    const char *reason = "";
    json_auto_t *egress = json_pack("{s:o}", "rules", json_loads(rules, 0, NULL));
    const json_t *rule = egress_decide(egress, &request, &reason);
    free(kept);
    kept = rule ? json_dumps(json_object_get(rule, "headers"), JSON_COMPACT) : xstrdup(reason);
    return kept;
}

static struct egress_request get(const char *uri)
{
    return (struct egress_request){HOST, HOST, HOST, EGRESS_PORT, "GET", uri};
}

TEST(the_first_rule_with_method_and_path_decides)
{
    const char *rules =
        "[{\"host\":\"" HOST "\",\"methods\":[\"GET\"],\"paths\":[\"/a*\"],"
        "\"headers\":{\"cookie\":\"1\"}},"
        "{\"host\":\"" HOST "\",\"paths\":[\"/b\"],\"headers\":{\"cookie\":\"2\"}}]";
    struct egress_request post = get("/b?x");
    post.method = "POST";
    assert_string_equal(decide(rules, get("/a/x?y=/../")), "{\"cookie\":\"1\"}");
    assert_string_equal(decide(rules, get("/b")), "{\"cookie\":\"2\"}");
    assert_string_equal(decide(rules, post), "{\"cookie\":\"2\"}");
    assert_non_null(strstr(decide(rules, get("/c")), "allows the path"));
    post.uri = "/a";
    assert_non_null(strstr(decide(rules, post), "allows the path"));
    rules = "[{\"host\":\"" HOST "\",\"methods\":[\"HEAD\"]}]";
    assert_non_null(strstr(decide(rules, get("/")), "allows the method"));
}

TEST(names_must_agree)
{
    static const struct {
        const char *sni, *host, *http_host;
        bool passes;
    } cases[] = {
        {HOST, HOST, HOST, true},
        {HOST, HOST, HOST ":443", true},
        {HOST, HOST, "API.example.com", true},
        {HOST, HOST, HOST ":80", false},
        {HOST, HOST, HOST ".", false},
        {HOST, HOST, "", false},
        {HOST, HOST, "api.example", false},
        {HOST, "other.example", HOST, false},
        {"", HOST, HOST, false},
        {"other.example", "other.example", "other.example", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct egress_request request = {cases[i].sni, cases[i].host, cases[i].http_host,
                                         EGRESS_PORT,  "GET",         "/"};
        const char *said = decide("[{\"host\":\"" HOST "\",\"headers\":{}}]", request);
        assert_int_equal(!strcmp(said, "{}"), cases[i].passes);
    }
}

TEST(http_has_rules_of_its_own)
{
    const char *rules = "[{\"host\":\"" HOST "\",\"headers\":{\"cookie\":\"tls\"}},"
                        "{\"host\":\"" HOST "\",\"port\":80,\"headers\":{\"cookie\":\"plain\"}}]";
    struct egress_request request = get("/");
    assert_string_equal(decide(rules, request), "{\"cookie\":\"tls\"}");
    request.port = EGRESS_PORT_HTTP;
    request.sni = "";
    assert_string_equal(decide(rules, request), "{\"cookie\":\"plain\"}");
    request.http_host = HOST ":80";
    assert_string_equal(decide(rules, request), "{\"cookie\":\"plain\"}");
    request.http_host = HOST ":443";
    assert_non_null(strstr(decide(rules, request), "header Host"));
    request.http_host = request.host = "other.example";
    assert_non_null(strstr(decide(rules, request), "at this port"));
    request.http_host = request.host = HOST;
    assert_non_null(strstr(decide("[{\"host\":\"" HOST "\"}]", request), "at this port"));
}

TEST(a_path_that_a_server_could_read_otherwise_is_refused)
{
    static const char *const odd[] = {"/a/../b",     "/a/./b",   "/a/..",  "/a/.",   "/a//b",
                                      "/a/%2e%2e/b", "/a/%2E/b", "/a/%2f", "/a/%5C", "/a/%25",
                                      "/a/;x",       "/a/\\b",   "/a/%00", "/a/%0a", "/a/%1f",
                                      "/a/%",        "/a/%3B",   "a",      ""};
    static const char *const plain[] = {"/a/", "/a/...", "/a/.b", "/a/b.", "/a/%20", "/a/%C3%A9"};
    const char *rules = "[{\"host\":\"" HOST "\",\"paths\":[\"/a/*\"],\"headers\":{}}]";
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        assert_string_not_equal(decide(rules, get(odd[i])), "{}");
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        assert_string_equal(decide(rules, get(plain[i])), "{}");
    rules = "[{\"host\":\"" HOST "\",\"headers\":{}}]";
    assert_string_equal(decide(rules, get("/a/../b")), "{}");
}

TEST(a_closed_rule_says_why)
{
    assert_string_equal(decide("[{\"host\":\"" HOST "\",\"refused\":\"gone\"}]", get("/")), "gone");
}

static const char *value_of(void *context, const char *name)
{
    (void)context;
    return !strcmp(name, "a") ? "1" : !strcmp(name, "b") ? "${secrets.a}" : NULL;
}

TEST(mentions_are_filled_once)
{
    autofree char *both = egress_value_fill("x ${secrets.a}${secrets.b} $", value_of, NULL);
    assert_string_equal(both, "x 1${secrets.a} $");
    assert_null(egress_value_fill("${secrets.c}", value_of, NULL));
    assert_null(egress_value_fill("${other}", value_of, NULL));
}

static json_t *rule_with(const char *value)
{
    return json_pack("{s:s, s:{s:s}, s:{s:s}}", "host", HOST, "headers", "cookie", value, "query",
                     "key", value);
}

/* The firewall gets values that are filled already. */
TEST(a_secret_may_look_like_a_mention)
{
    struct error *err = NULL;
    static const char *const values[] = {"a${b", "${secrets.", "${other}", "$\"\\'{}"};
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        json_auto_t *filled = json_pack("{s:[o]}", "rules", rule_with(values[i]));
        assert_ok(schema_validate(egress_wire_members, filled, &err));
    }
    json_auto_t *broken = json_pack("{s:[o]}", "rules", rule_with("a\r\nb"));
    assert_fails_saying(schema_validate(egress_wire_members, broken, &err), ERR_INVALID_REQUEST,
                        "printable");
    json_auto_t *asked = rule_with("a${b");
    assert_fails_saying(schema_validate(egress_rule_item.members, asked, &err), ERR_INVALID_REQUEST,
                        "${secrets.NAME}");
    json_auto_t *blank = rule_with("  ");
    assert_fails_saying(schema_validate(egress_rule_item.members, blank, &err), ERR_INVALID_REQUEST,
                        "more than spaces");
}

TEST(parameters_of_a_rule_replace_those_of_the_request)
{
    static const char *const targets[][2] = {
        {"/v1", "/v1?key=a%20b%26c"},
        {"/v1?", "/v1?key=a%20b%26c"},
        {"/v1?key=own", "/v1?key=a%20b%26c"},
        {"/v1?x=1&key=own&y=2", "/v1?x=1&y=2&key=a%20b%26c"},
        {"/v1?%6bey=own;k%65y&x=%zz", "/v1?x=%zz&key=a%20b%26c"},
        {"/v1?x=1;key=own;y", "/v1?x=1;y&key=a%20b%26c"},
        {"/v1?keys=1&Key=2&a=key=3", "/v1?keys=1&Key=2&a=key=3&key=a%20b%26c"},
        {"/a?key=/b?c", "/a?key=a%20b%26c"},
        {"http://api.example.com/v1", NULL},
        {"*", NULL},
        {"", NULL},
        {"/v1#?x", NULL},
        {"/v1?x=\n", NULL},
        {"/v1 ", NULL},
    };
    json_auto_t *rule = json_pack("{s:{s:s}}", "query", "key", "a b&c");
    for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
        autofree char *target = egress_target(rule, targets[i][0]);
        if (targets[i][1])
            assert_string_equal(target, targets[i][1]);
        else
            assert_null(target);
    }
    autofree char *path = xcalloc(EGRESS_TARGET_MAX + 1, 1);
    memset(path, '/', EGRESS_TARGET_MAX);
    assert_null(egress_target(rule, path));
}
