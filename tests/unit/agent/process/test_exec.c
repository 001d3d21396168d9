/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "agent/process/exec_call.h"
#include "agent/process/exec_text.h"
#include "base/mem.h"

static json_t *parse(const char *text)
{
    json_t *message = json_loads(text, 0, NULL);
    assert_non_null(message);
    return message;
}

static const char *argument(const struct exec_call *call, size_t at)
{
    return json_string_value(json_array_get(call->process.args, at));
}

static void assert_refused(const char *text, const char *words)
{
    struct rpc_error error = {.message = ""};
    json_auto_t *message = parse(text);
    exec_call_auto call = {.args = NULL};
    assert_int_equal(exec_call_read(message, &call, &error), -1);
    assert_int_equal(error.code, RPC_INVALID_ARGUMENT);
    assert_int_equal(error.field[0], '/');
    if (!strstr(error.message, words))
        fail_msg("%s: \"%s\" does not say \"%s\"", text, error.message, words);
}

TEST(test_a_line_is_for_the_shell)
{
    struct rpc_error error;
    json_auto_t *message = parse("{\"cmd\": \"ls | wc -l\"}");
    exec_call_auto call;
    assert_int_equal(exec_call_read(message, &call, &error), 0);
    assert_string_equal(call.process.command, "/bin/sh");
    assert_string_equal(argument(&call, 0), "-c");
    assert_string_equal(argument(&call, 1), "ls | wc -l");
    assert_int_equal(call.timeout_ms, EXEC_TIMEOUT_DEFAULT_MS);
    assert_false(call.process.with_stdin);
    assert_string_equal(call.user, "");
}

TEST(test_with_args_it_is_a_program)
{
    struct rpc_error error;
    json_auto_t *message =
        parse("{\"cmd\": \"ls\", \"args\": [], \"stdin\": \"\", \"timeout\": 0.25,"
              " \"user\": \"root\", \"cwd\": \"/tmp\", \"envs\": {\"A\": \"b\"}}");
    exec_call_auto call;
    assert_int_equal(exec_call_read(message, &call, &error), 0);
    assert_string_equal(call.process.command, "ls");
    assert_int_equal(json_array_size(call.process.args), 0);
    assert_true(call.process.with_stdin);
    assert_int_equal(call.input_size, 0);
    assert_int_equal(call.timeout_ms, 250);
    assert_string_equal(call.user, "root");
    assert_string_equal(call.process.cwd, "/tmp");
    assert_int_equal(json_object_size(call.process.envs), 1);
}

TEST(test_input_may_be_base64)
{
    struct rpc_error error;
    json_auto_t *message =
        parse("{\"cmd\": \"cat\", \"stdin\": \"AP8=\", \"stdin_encoding\": \"base64\"}");
    exec_call_auto call;
    assert_int_equal(exec_call_read(message, &call, &error), 0);
    assert_int_equal(call.input_size, 2);
    assert_memory_equal(call.input, "\0\xff", 2);
}

TEST(test_what_is_wrong_is_named)
{
    assert_refused("{}", "cmd");
    assert_refused("{\"cmd\": \"\"}", "cmd");
    assert_refused("{\"cmd\": 1}", "cmd must be a string");
    assert_refused("{\"cmd\": \"a\", \"args\": \"b\"}", "args must be an array");
    assert_refused("{\"cmd\": \"a\", \"args\": [1]}", "args must be strings");
    assert_refused("{\"cmd\": \"a\", \"envs\": [1]}", "envs must be an object");
    assert_refused("{\"cmd\": \"a\", \"cwd\": {}}", "cwd must be a string");
    assert_refused("{\"cmd\": \"a\", \"user\": 0}", "user must be a string");
    assert_refused("{\"cmd\": \"a\", \"stdin\": true}", "stdin must be a string");
    assert_refused("{\"cmd\": \"a\", \"stdin\": \"*\", \"stdin_encoding\": \"base64\"}", "stdin");
    assert_refused("{\"cmd\": \"a\", \"stdin_encoding\": \"latin1\"}", "stdin_encoding");
    assert_refused("{\"cmd\": \"a\", \"timeout\": \"5\"}", "timeout must be a number");
    assert_refused("{\"cmd\": \"a\", \"timeout\": 0}", "timeout");
    assert_refused("{\"cmd\": \"a\", \"timeout\": 86401}", "timeout");
    assert_refused("{\"cmd\": \"a\", \"environment\": {}}", "this call has no field environment");
    assert_refused("{\"cmd\": \"a\", \"env\": {}}", "is envs meant?");
}

TEST(test_a_text_in_place_of_a_program_gets_advice)
{
    autofree char *text = xasprintf("{\"cmd\": \"%05000d\", \"args\": []}", 0);
    assert_refused(text, "pass a longer text in args or on standard input");
    assert_refused("{\"args\": []}", "cmd is missing");
}

TEST(test_text_is_text_and_the_rest_base64)
{
    const char *encoding;
    json_auto_t *text = exec_text_json("h\xc3\xa4\0b", 5, &encoding);
    assert_string_equal(encoding, "utf-8");
    assert_int_equal(json_string_length(text), 5);
    json_auto_t *bytes = exec_text_json("\xff", 1, &encoding);
    assert_string_equal(encoding, "base64");
    assert_string_equal(json_string_value(bytes), "/w==");
    json_auto_t *nothing = exec_text_json(NULL, 0, &encoding);
    assert_string_equal(encoding, "utf-8");
    assert_string_equal(json_string_value(nothing), "");
}

TEST(test_characters_are_not_cut)
{
    assert_int_equal(exec_text_unfinished("", 0), 0);
    assert_int_equal(exec_text_unfinished("abc", 3), 0);
    assert_int_equal(exec_text_unfinished("a\xc3", 2), 1);
    assert_int_equal(exec_text_unfinished("a\xc3\xa4", 3), 0);
    assert_int_equal(exec_text_unfinished("a\xe2\x82", 3), 2);
    assert_int_equal(exec_text_unfinished("\xf0\x9f\x98", 3), 3);
    assert_int_equal(exec_text_unfinished("\xf0\x9f\x98\x80", 4), 0);
    assert_int_equal(exec_text_unfinished("\x80\x80\x80\x80", 4), 0);
}
