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

static void finds_fields(void **state)
{
    json_auto_t *json = message("{\"oneField\":1,\"two_field\":2,\"gone\":null}");
    assert_int_equal(json_integer_value(proto_field(json, "oneField")), 1);
    assert_int_equal(json_integer_value(proto_field(json, "twoField")), 2);
    assert_null(proto_field(json, "gone"));
    assert_null(proto_field(json, "absent"));
    assert_null(proto_field(NULL, "absent"));
}

static void checks_types(void **state)
{
    json_auto_t *json = message("{\"s\":\"x\",\"b\":true,\"o\":{},\"a\":[],\"n\":5}");
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
}

static void reads_integers(void **state)
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

static void reads_bytes(void **state)
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

static void layers_environments(void **state)
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

static void bounds_environments(void **state)
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

static void tells_ends(void **state)
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

static void tells_reasons(void **state)
{
    const struct process_end full = {W_EXITCODE(1, 0), REASON_DISK_FULL, "disk full"};
    const struct process_end killed = {W_EXITCODE(0, SIGSEGV), REASON_SIGNAL, "signal: SIGSEGV"};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_fields),        cmocka_unit_test(checks_types),
        cmocka_unit_test(reads_integers),      cmocka_unit_test(reads_bytes),
        cmocka_unit_test(layers_environments), cmocka_unit_test(bounds_environments),
        cmocka_unit_test(tells_ends),          cmocka_unit_test(tells_reasons),
    };
    return run_tests(tests);
}
