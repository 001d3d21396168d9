/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "agent/common/environment.h"
#include "agent/common/proto.h"
#include "agent/process/process_end.h"
#include "base/mem.h"

#include <signal.h>
#include <sys/wait.h>

static json_t *message(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    return json;
}

TEST(finds_fields)
{
    json_auto_t *json = message("{\"oneField\":1,\"two_field\":2,\"gone\":null}");
    assert_int_equal(json_integer_value(proto_field(json, "oneField")), 1);
    assert_int_equal(json_integer_value(proto_field(json, "twoField")), 2);
    assert_null(proto_field(json, "gone"));
    assert_null(proto_field(json, "absent"));
    assert_null(proto_field(NULL, "absent"));
}

TEST(checks_types)
{
    json_auto_t *json = message("{\"s\":\"x\",\"b\":true,\"o\":{},\"a\":[1],\"e\":[],\"n\":5}");
    struct rpc_error error;
    const char *text;
    const json_t *value;
    bool flag;
    assert_int_equal(proto_string(json, "s", &text, &error), 0);
    assert_string_equal(text, "x");
    assert_int_equal(proto_string(json, "none", &text, &error), 0);
    assert_string_equal(text, "");
    assert_int_equal(proto_string(json, "n", &text, &error), -1);
    assert_int_equal(error.code, RPC_INVALID_ARGUMENT);
    assert_int_equal(proto_bool(json, "b", false, &flag, &error), 0);
    assert_true(flag);
    assert_int_equal(proto_bool(json, "none", true, &flag, &error), 0);
    assert_true(flag);
    assert_int_equal(proto_bool(json, "n", true, &flag, &error), -1);
    assert_int_equal(proto_object(json, "a", &value, &error), -1);
    assert_int_equal(proto_array(json, "o", &value, &error), -1);
    assert_int_equal(proto_array(json, "a", &value, &error), 0);
    /* PHP writes [] for an empty object, too. */
    assert_int_equal(proto_object(json, "e", &value, &error), 0);
    assert_null(value);
}

static json_t *read_text(const char *text)
{
    struct rpc_error error;
    json_t *body = proto_read(text, strlen(text), &error);
    if (!body)
        assert_int_equal(error.code, RPC_INVALID_ARGUMENT);
    return body;
}

TEST(reads_bodies)
{
    static const char *const without_fields[] = {"", "null", " null ", "[]", "{}"};
    static const char *const wrong[] = {
        "1", "\"a\"", "[1]", "{", "true", "{\"a\":1,\"a\":1}", "{\"a\":\"\\u0000\"}"};
    for (size_t i = 0; i < ARRAY_SIZE(without_fields); i++) {
        json_auto_t *body = read_text(without_fields[i]);
        assert_true(json_is_object(body));
        assert_int_equal(json_object_size(body), 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_null(read_text(wrong[i]));
    char deep[101];
    memset(deep, '[', 100);
    deep[100] = '\0';
    assert_null(read_text(deep));
}

TEST(names_the_wrong_field)
{
    json_auto_t *json = message("{\"text\":1,\"two_words\":\"x\",\"size\":{\"cols\":5000}}");
    struct rpc_error error;
    const char *text;
    const json_t *value;
    bool flag;
    int64_t number;
    assert_int_equal(proto_string(json, "text", &text, &error), -1);
    assert_string_equal(error.field, "/text");
    assert_int_equal(proto_bool(json, "twoWords", false, &flag, &error), -1);
    assert_string_equal(error.field, "/two_words");
    assert_int_equal(proto_object(json, "size", &value, &error), 0);
    assert_int_equal(proto_integer(value, "cols", 0, 4096, &number, &error), -1);
    assert_string_equal(error.field, "/cols");
    assert_int_equal(rpc_error_within(&error, "pty/size"), -1);
    assert_string_equal(error.field, "/pty/size/cols");
    rpc_error_set(&error, RPC_NOT_FOUND, "no process");
    assert_int_equal(rpc_error_within(&error, "process"), -1);
    assert_string_equal(error.field, "");
}

TEST(names_unknown_fields)
{
    static const char *const names[] = {"one", "two", NULL};
    json_auto_t *json = message("{\"one\":1,\"tow\":null}");
    struct rpc_error error;
    assert_int_equal(proto_check_names(json, names, &error), -1);
    assert_string_equal(error.field, "/tow");
    assert_string_equal(error.message, "this call has no field tow; is two meant?");
    json_object_del(json, "tow");
    assert_int_equal(proto_check_names(json, names, &error), 0);
}

TEST(reads_integers)
{
    static const struct {
        const char *text;
        int rc;
        int64_t value;
    } cases[] = {
        {"{\"n\":7}", 0, 7},       {"{\"n\":\"7\"}", 0, 7},
        {"{\"n\":7.0}", 0, 7},     {"{}", 0, 0},
        {"{\"n\":7.5}", -1, 0},    {"{\"n\":\"7x\"}", -1, 0},
        {"{\"n\":\"\"}", -1, 0},   {"{\"n\":\" 7\"}", -1, 0},
        {"{\"n\":101}", -1, 0},    {"{\"n\":-1}", -1, 0},
        {"{\"n\":1e300}", -1, 0},  {"{\"n\":true}", -1, 0},
        {"{\"n\":\"+7\"}", -1, 0}, {"{\"n\":\"99999999999999999999\"}", -1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_auto_t *json = message(cases[i].text);
        struct rpc_error error;
        int64_t value;
        assert_int_equal(proto_integer(json, "n", 0, 100, &value, &error), cases[i].rc);
        if (cases[i].rc == 0)
            assert_int_equal(value, cases[i].value);
    }
}

TEST(reads_bytes)
{
    static const char *const good[] = {"aGk/Pz8=", "aGk/Pz8", "aGk_Pz8=", "aGk_Pz8"};
    static const char *const bad[] = {"a", "aGk?", "aGk/Pz8==", "aGk /Pz8=", "=", "aGk_/z8="};
    struct rpc_error error;
    char *data;
    size_t size;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        json_auto_t *json = json_string(good[i]);
        assert_int_equal(proto_bytes(json, "b", &data, &size, &error), 0);
        assert_int_equal(size, 5);
        assert_memory_equal(data, "hi???", 5);
        free(data);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        json_auto_t *json = json_string(bad[i]);
        assert_int_equal(proto_bytes(json, "b", &data, &size, &error), -1);
    }
    json_auto_t *empty = json_string("");
    assert_int_equal(proto_bytes(empty, "b", &data, &size, &error), 0);
    assert_int_equal(size, 0);
    free(data);
}

TEST(layers_environments)
{
    struct rpc_error error;
    environment_auto below = {NULL, 0, 0};
    environment_auto above = {NULL, 0, 0};
    json_auto_t *envs = message("{\"B\":\"2\",\"C\":\"\",\"A\":\"new=er\"}");
    json_auto_t *wrong = message("{\"D\":4}");
    assert_int_equal(environment_set(&below, "A", "1", &error), 0);
    assert_int_equal(environment_set(&below, "AB", "x", &error), 0);
    assert_int_equal(environment_set_json(&above, envs, &error), 0);
    assert_int_equal(environment_merge(&below, &above, &error), 0);
    assert_int_equal(below.count, 4);
    assert_string_equal(below.entries[0], "A=new=er");
    assert_string_equal(below.entries[1], "AB=x");
    assert_string_equal(below.entries[2], "B=2");
    assert_string_equal(below.entries[3], "C=");
    assert_null(below.entries[4]);
    assert_int_equal(environment_set_json(&below, wrong, &error), -1);
    assert_int_equal(environment_set(&below, "", "x", &error), -1);
    assert_int_equal(environment_set(&below, "X=Y", "x", &error), -1);
    assert_int_equal(environment_set_json(&below, NULL, &error), 0);
}

TEST(bounds_environments)
{
    struct rpc_error error;
    environment_auto environment = {NULL, 0, 0};
    /* One variable: the kernel takes no longer one. */
    autofree char *big = xmalloc(GUEST_ARGUMENT_BYTES_MAX);
    memset(big, 'x', GUEST_ARGUMENT_BYTES_MAX - 1);
    big[GUEST_ARGUMENT_BYTES_MAX - 1] = '\0';
    assert_int_equal(environment_set(&environment, "A", big, &error), -1);
    big[GUEST_ARGUMENT_BYTES_MAX - 2] = '\0';
    assert_int_equal(environment_set(&environment, "A", big, &error), 0);
    /* All of them: two of the longest fill it. */
    assert_int_equal(environment_set(&environment, "B", big, &error), 0);
    assert_int_equal(environment_set(&environment, "C", "", &error), -1);
    environment_wipe(&environment);
    assert_int_equal(environment_set(&environment, "A", "", &error), 0);
    char name[16];
    for (int i = 1; i < ENVIRONMENT_COUNT_MAX; i++) {
        snprintf(name, sizeof name, "N%d", i);
        assert_int_equal(environment_set(&environment, name, "", &error), 0);
    }
    assert_int_equal(environment_set(&environment, "B", "", &error), -1);
    assert_int_equal(environment_set(&environment, "N1", "x", &error), 0);
}

TEST(tells_ends)
{
    static const struct {
        int status;
        const char *event;
    } cases[] = {
        {W_EXITCODE(0, 0), "{\"exitCode\":0,\"exited\":true,\"status\":\"exit status 0\"}"},
        {W_EXITCODE(9, 0), "{\"exitCode\":9,\"exited\":true,\"status\":\"exit status 9\","
                           "\"error\":\"exit status 9\"}"},
        {W_EXITCODE(0, SIGKILL), "{\"exitCode\":-1,\"exited\":false,\"status\":\"signal: killed\","
                                 "\"error\":\"signal: killed\"}"},
        {W_EXITCODE(0, SIGSEGV) | WCOREFLAG,
         "{\"exitCode\":-1,\"exited\":false,"
         "\"status\":\"signal: segmentation error (core dumped)\","
         "\"error\":\"signal: segmentation error (core dumped)\"}"},
        {W_EXITCODE(0, 40), "{\"exitCode\":-1,\"exited\":false,\"status\":\"signal: signal 40\","
                            "\"error\":\"signal: signal 40\"}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct process_end end = {.wait_status = cases[i].status};
        json_auto_t *json = process_end_event(&end);
        autofree char *text =
            json_dumps(json_object_get(json_object_get(json, "event"), "end"), JSON_COMPACT);
        assert_string_equal(text, cases[i].event);
    }
}

TEST(tells_reasons)
{
    const struct process_end full = {
        .wait_status = W_EXITCODE(1, 0), .reason = REASON_DISK_FULL, .message = "disk full"};
    const struct process_end killed = {.wait_status = W_EXITCODE(0, SIGSEGV),
                                       .reason = REASON_SIGNAL,
                                       .message = "signal: SIGSEGV"};
    json_auto_t *reason = process_end_event(&full);
    json_auto_t *status = process_end_event(&killed);
    const json_t *end = json_object_get(json_object_get(reason, "event"), "end");
    assert_string_equal(json_string_value(json_object_get(end, "error")),
                        "exit status 1 (disk full)");
    assert_string_equal(json_string_value(json_object_get(end, "reason")), "disk_full");
    assert_string_equal(json_string_value(json_object_get(end, "message")), "disk full");
    end = json_object_get(json_object_get(status, "event"), "end");
    assert_string_equal(json_string_value(json_object_get(end, "error")),
                        "signal: segmentation error");
    assert_null(json_object_get(end, "reason"));
}
