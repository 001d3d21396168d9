/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/duration.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "cli/api.h"
#include "cli/arguments.h"
#include "cli/envelopes.h"
#include "cli/forward.h"

struct parsed {
    struct cli cli;
    struct cli_call call;
};

static int parse(struct parsed *parsed, const char **words, struct error **err)
{
    size_t count = 0;
    *parsed = (struct parsed){.call = {.cli = &parsed->cli}};
    while (words[count])
        count++;
    return arguments_parse((char **)words, count, &parsed->call, err);
}

#define PARSE(parsed, ...) parse(parsed, (const char *[]){__VA_ARGS__, NULL}, &err)

TEST(test_options_stand_anywhere)
{
    struct error *err = NULL;
    struct parsed parsed;
    size_t at = 0;
    assert_ok(PARSE(&parsed, "-d", "home", "create", "--name=work", "python", "-e", "A=b", "-eC=d",
                    "-j"));
    assert_string_equal(parsed.call.verb->name, "create");
    assert_string_equal(cli_value(&parsed.call, "deployment"), "home");
    assert_string_equal(cli_value(&parsed.call, "name"), "work");
    assert_string_equal(cli_next_value(&parsed.call, "env", &at), "A=b");
    assert_string_equal(cli_next_value(&parsed.call, "env", &at), "C=d");
    assert_null(cli_next_value(&parsed.call, "env", &at));
    assert_true(cli_flag(&parsed.call, "json"));
    assert_string_equal(cli_operand(&parsed.call, 0), "python");
    assert_null(cli_operand(&parsed.call, 1));
    arguments_free(&parsed.call);
}

TEST(test_a_command_keeps_its_own_options)
{
    struct error *err = NULL;
    struct parsed parsed;
    assert_ok(PARSE(&parsed, "exec", "-t", "work", "ls", "-la", "--json"));
    assert_true(cli_flag(&parsed.call, "tty"));
    assert_false(cli_flag(&parsed.call, "json"));
    assert_string_equal(cli_operand(&parsed.call, 2), "-la");
    assert_int_equal(parsed.call.operand_count, 4);
    arguments_free(&parsed.call);
    assert_ok(PARSE(&parsed, "exec", "work", "--", "ls", "--", "x"));
    assert_int_equal(parsed.call.operand_count, 4);
    assert_string_equal(cli_operand(&parsed.call, 1), "ls");
    assert_string_equal(cli_operand(&parsed.call, 2), "--");
    assert_null(parsed.call.operands[4]);
    arguments_free(&parsed.call);
}

TEST(test_names_of_two_words)
{
    struct error *err = NULL;
    struct parsed parsed;
    assert_ok(PARSE(&parsed, "volume", "put", "-", "disk:/x"));
    assert_string_equal(parsed.call.verb->name, "volume put");
    assert_string_equal(cli_operand(&parsed.call, 0), "-");
    arguments_free(&parsed.call);
    assert_fails_saying(PARSE(&parsed, "volume"), ERR_CONFIG, "second word: create, list, show");
    arguments_free(&parsed.call);
}

TEST(test_what_is_wrong_is_said)
{
    struct error *err = NULL;
    struct parsed parsed;
    assert_fails_saying(PARSE(&parsed, "creat"), ERR_CONFIG, "mean 'create'");
    arguments_free(&parsed.call);
    assert_fails_saying(PARSE(&parsed, "list", "--none"), ERR_CONFIG, "--none of list");
    arguments_free(&parsed.call);
    assert_fails_saying(PARSE(&parsed, "create", "--memroy=512"), ERR_CONFIG, "mean --memory?");
    arguments_free(&parsed.call);
    assert_fails_saying(PARSE(&parsed, "list", "--jsno"), ERR_CONFIG, "mean --json?");
    arguments_free(&parsed.call);
    assert_fails_saying(PARSE(&parsed, "list", "--json=yes"), ERR_CONFIG, "takes no value");
    arguments_free(&parsed.call);
    assert_fails_saying(PARSE(&parsed, "list", "--team"), ERR_CONFIG, "needs a value");
    arguments_free(&parsed.call);
    assert_fails_saying(PARSE(&parsed, "show"), ERR_CONFIG, "more operands");
    arguments_free(&parsed.call);
    assert_fails_saying(PARSE(&parsed, "show", "a", "b"), ERR_CONFIG, "fewer operands");
    arguments_free(&parsed.call);
}

TEST(test_every_row_can_be_found_by_its_name)
{
    for (size_t i = 0; i < cli_verb_count; i++) {
        size_t words;
        autofree char *name = xstrdup(cli_verbs[i].name);
        char *space = strchr(name, ' ');
        char *parts[] = {name, space ? space + 1 : NULL};
        if (space)
            *space = '\0';
        assert_ptr_equal(arguments_verb(parts, space ? 2 : 1, &words), &cli_verbs[i]);
    }
}

TEST(test_durations)
{
    uint64_t seconds;
    assert_int_equal(duration_parse("300", &seconds), 0);
    assert_int_equal(seconds, 300);
    assert_int_equal(duration_parse("2h", &seconds), 0);
    assert_int_equal(seconds, 7200);
    assert_int_equal(duration_parse("1d", &seconds), 0);
    assert_int_equal(seconds, 86400);
    const char *const bad[] = {"", "h", "0", "-1", "1w", "1hm", "1.5h", "99999999999"};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(duration_parse(bad[i], &seconds), -1);
}

TEST(test_envelopes_come_in_pieces)
{
    buffer_auto sent = BUFFER_INIT(1024), received = BUFFER_INIT(1024);
    json_t *message = NULL;
    bool is_last;
    envelope_put(&sent, json_pack("{s:i}", "a", 1));
    for (size_t i = 0; i < sent.size; i++) {
        assert_int_equal(envelope_take(&received, &message, &is_last), 0);
        buffer_append(&received, sent.data + i, 1);
    }
    assert_int_equal(envelope_take(&received, &message, &is_last), 1);
    assert_false(is_last);
    assert_int_equal(json_integer_value(json_object_get(message, "a")), 1);
    json_decref(message);
    buffer_append(&received, "\2\0\0\0\2{}", 7);
    assert_int_equal(envelope_take(&received, &message, &is_last), 1);
    assert_true(is_last);
    json_decref(message);
    buffer_append(&received, "\0\377\377\377\377", 5);
    assert_int_equal(envelope_take(&received, &message, &is_last), -1);
}

TEST(test_the_head_of_a_forwarded_request)
{
    const struct forward forward = {.host = "p3000-x",
                                    .token_header = FORWARD_TOKEN_HEADER ": slt_1"};
    buffer_auto out = BUFFER_INIT(4096);
    const char plain[] = "GET /a HTTP/1.1\r\nHost: localhost:8000\r\nConnection: keep-alive\r\n"
                         "X-Access-Token: mine\r\n" FORWARD_TOKEN_HEADER ": other\r\n\r\n";
    assert_int_equal(forward_head(&forward, plain, strlen(plain), &out), 0);
    assert_string_equal(buffer_string(&out),
                        "GET /a HTTP/1.1\r\nX-Access-Token: mine\r\nHost: p3000-x\r\n"
                        "E2b-Traffic-Access-Token: slt_1\r\nConnection: close\r\n\r\n");
    buffer_clear(&out);
    const char socket[] = "GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    assert_int_equal(forward_head(&forward, socket, strlen(socket), &out), 0);
    assert_non_null(strstr(buffer_string(&out), "Upgrade: websocket\r\n"));
    assert_non_null(strstr(buffer_string(&out), "Connection: upgrade\r\n"));
    assert_int_equal(forward_head(&forward, "nothing", 7, &out), -1);
}

static bool is_for(const char *host)
{
    char head[256];
    int size = snprintf(head, sizeof head, "GET / HTTP/1.1\r\nA: b\r\nhost:%s\r\n\r\n", host);
    return forward_is_for_local(head, (size_t)size);
}

TEST(test_a_forwarded_request_names_this_machine)
{
    static const char *const own[] = {" localhost:8000", "LocalHost",       "  a.localhost:1",
                                      " 127.0.0.1",      " 192.0.2.1:8000", " [::1]:8000"};
    static const char *const others[] = {
        " a.example:8000", " localhost.example", " notlocalhost", " 127.0.0.1.example:8000", "",
        " :8000"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!is_for(own[i]))
            fail_msg("refused: %s", own[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (is_for(others[i]))
            fail_msg("taken: %s", others[i]);
    assert_true(forward_is_for_local("GET / HTTP/1.0\r\n\r\n", 18));
    const char both[] = "GET / HTTP/1.1\r\nHost: localhost\r\nHost: a.example\r\n\r\n";
    assert_false(forward_is_for_local(both, strlen(both)));
}

/* Root in a sandbox writes the answers of its data plane. */
TEST(test_an_error_of_too_many_values_is_not_read)
{
    error_auto err = NULL;
    struct exchange exchange = {.url = "https://a.example/files", .status = 400};
    buffer_init(&exchange.answer, 1 << 20);
    buffer_append_string(&exchange.answer, "{\"message\":\"told\",\"values\":[0");
    for (int i = 0; i < JSON_VALUES_MAX; i++)
        buffer_append_string(&exchange.answer, ",0");
    buffer_append_string(&exchange.answer, "]}");
    assert_fails_saying(api_error(&exchange, &err), ERR_INTERNAL, "answered with status 400");
    buffer_clear(&exchange.answer);
    buffer_append_string(&exchange.answer, "{\"message\":\"told\"}");
    assert_fails_saying(api_error(&exchange, &err), ERR_INTERNAL, "told");
    exchange_free(&exchange);
}
