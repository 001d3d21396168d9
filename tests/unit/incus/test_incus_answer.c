/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "incus/incus_answer.h"

#define UUID "0a1b2c3d-4e5f-6789-abcd-ef0123456789"

static json_t *load(const char *text)
{
    json_t *document = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(document);
    return document;
}

TEST(reads_envelopes)
{
    struct incus_answer answer;

    json_auto_t *sync = load("{\"type\":\"sync\",\"metadata\":{\"a\":1}}");
    assert_int_equal(incus_answer_read(sync, &answer), 0);
    assert_int_equal(answer.type, INCUS_ANSWER_SYNC);
    assert_true(json_is_object(answer.metadata));

    json_auto_t *async = load("{\"type\":\"async\",\"operation\":\"/1.0/operations/" UUID "\"}");
    assert_int_equal(incus_answer_read(async, &answer), 0);
    assert_int_equal(answer.type, INCUS_ANSWER_ASYNC);
    assert_string_equal(answer.operation, UUID);

    json_auto_t *query =
        load("{\"type\":\"async\",\"operation\":\"/1.0/operations/" UUID "?project=x\"}");
    assert_int_equal(incus_answer_read(query, &answer), 0);
    assert_string_equal(answer.operation, UUID);

    json_auto_t *error = load("{\"type\":\"error\",\"error_code\":404,\"error\":\"Not Found\"}");
    assert_int_equal(incus_answer_read(error, &answer), 0);
    assert_int_equal(answer.type, INCUS_ANSWER_ERROR);
    assert_int_equal(answer.code, 404);
    assert_string_equal(answer.error, "Not Found");
}

TEST(refuses_other_documents)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        "7",
        "{\"type\":7}",
        "{\"type\":\"other\"}",
        "{\"type\":\"async\"}",
        "{\"type\":\"async\",\"operation\":\"\"}",
        "{\"type\":\"async\",\"operation\":\"/1.0/operations/\"}",
        "{\"type\":\"async\",\"operation\":\"/1.0/operations/../instances/x\"}",
        "{\"type\":\"async\",\"operation\":\"/1.0/operations/" UUID "0\"}",
        "{\"type\":\"async\",\"operation\":\"/1.0/operations/" UUID "/wait\"}",
    };
    struct incus_answer answer;

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        json_auto_t *document = load(texts[i]);
        assert_int_equal(incus_answer_read(document, &answer), -1);
    }
}

TEST(reads_operations)
{
    static const struct {
        const char *text;
        int result;
        enum incus_operation_state state;
        const char *error;
    } cases[] = {
        {"{\"status_code\":103}", 0, INCUS_OPERATION_RUNNING, ""},
        {"{\"status_code\":105}", 0, INCUS_OPERATION_RUNNING, ""},
        {"{\"status_code\":200,\"err\":\"\"}", 0, INCUS_OPERATION_DONE, ""},
        {"{\"status_code\":400,\"err\":\"no\"}", 0, INCUS_OPERATION_FAILED, "no"},
        {"{\"status_code\":400}", 0, INCUS_OPERATION_FAILED, "the operation failed"},
        {"{\"status_code\":401}", 0, INCUS_OPERATION_FAILED, "the operation was cancelled"},
        {"{\"status_code\":300}", -1, INCUS_OPERATION_RUNNING, NULL},
        {"{\"status_code\":\"200\"}", -1, INCUS_OPERATION_RUNNING, NULL},
        {"{\"status_code\":99999999999}", -1, INCUS_OPERATION_RUNNING, NULL},
        {"null", -1, INCUS_OPERATION_RUNNING, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *metadata = load(cases[i].text);
        enum incus_operation_state found;
        const char *error;
        int code;
        assert_int_equal(incus_operation_read(metadata, &found, &code, &error), cases[i].result);
        if (cases[i].result == 0) {
            assert_int_equal(found, cases[i].state);
            assert_string_equal(error, cases[i].error);
        }
    }
}

/* Words as Incus 6.0 says them. */
TEST(sorts_refusals)
{
    static const struct {
        int code;
        const char *text;
        enum incus_error kind;
    } cases[] = {
        {404, "Instance not found", INCUS_ERROR_NOT_FOUND},
        {400, "Failed to fetch instance \"a\" in project \"p\": Instance not found",
         INCUS_ERROR_NOT_FOUND},
        {404, "Profile not found", INCUS_ERROR_NOT_FOUND},
        {400, "Profile not found", INCUS_ERROR_OTHER},
        {400, "The instance is already stopped", INCUS_ERROR_STOPPED},
        {400, "The instance is already running", INCUS_ERROR_RUNNING},
        {400, "Instance is running", INCUS_ERROR_RUNNING},
        {400, "Instance is not running", INCUS_ERROR_STOPPED},
        {400, "container is not running: \"sandlot_sbx-1\"", INCUS_ERROR_STOPPED},
        {400,
         "Failed to create instance start operation: Instance is busy running a \"stop\" "
         "operation",
         INCUS_ERROR_BUSY},
        {400,
         "Failed to write backup file: Instance snapshot record count doesn't match instance "
         "snapshot volume record count",
         INCUS_ERROR_BUSY},
        {500, "Invalid PID '\xef\xbf\xbd'", INCUS_ERROR_BUSY},
        {500,
         "Failed creating instance record: Add instance info to the database: Failed to "
         "create \"instances\" entry: UNIQUE constraint failed: instances.project_id, "
         "instances.name",
         INCUS_ERROR_EXISTS},
        {409, "Instance \"a\" already exists", INCUS_ERROR_EXISTS},
        {409, "MAC address \"10:66:6a:00:00:01\" already defined on another NIC",
         INCUS_ERROR_OTHER},
        {400,
         "Failed to start device \"eth0\": Failed adding host route \"10.0.0.1/32\": Failed "
         "to run: ip -4 route add table main 10.0.0.1/32 dev slx: exit status 2 (RTNETLINK "
         "answers: File exists)",
         INCUS_ERROR_OTHER},
        {400,
         "Failed to run: /usr/libexec/incus/incusd forkstart sandlot_sbx-1 "
         "/var/lib/incus/containers "
         "/run/incus/sandlot_sbx-1/lxc.conf: exit status 1",
         INCUS_ERROR_START},
        {500, "Create instance from copy: Storage pool is unavailable on this server",
         INCUS_ERROR_POOL_CLOSED},
        {503, "Shutting down", INCUS_ERROR_UNAVAILABLE},
        {500, "Failed to begin transaction: sql: database is closed", INCUS_ERROR_INTERRUPTED},
        {400, "", INCUS_ERROR_OTHER},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(incus_error_of(cases[i].code, cases[i].text), cases[i].kind);
}

TEST(words_a_refusal)
{
    static const struct {
        enum incus_error kind;
        enum error_code code;
    } codes[] = {
        {INCUS_ERROR_NOT_FOUND, ERR_NOT_FOUND},
        {INCUS_ERROR_UNAVAILABLE, ERR_RUNTIME_UNAVAILABLE},
        {INCUS_ERROR_INTERRUPTED, ERR_OUTCOME_UNKNOWN},
        {INCUS_ERROR_BUSY, ERR_RUNTIME_REFUSED},
        {INCUS_ERROR_OTHER, ERR_RUNTIME_REFUSED},
    };

    for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
        error_auto err = NULL;
        assert_int_equal(incus_error_set(&err, codes[i].kind, "dump\nfailed\t\x01"), -1);
        assert_int_equal(err->code, codes[i].code);
        assert_string_equal(err->message, "Incus: dump failed  ");
    }
}

TEST(keeps_a_refusal_short)
{
    error_auto long_error = NULL;
    error_auto empty_error = NULL;
    char text[4001];

    /* Two bytes a character, so that a cut can hit one in its middle. */
    text[0] = 'x';
    for (size_t i = 1; i + 1 < sizeof(text); i += 2)
        memcpy(&text[i], "\xc3\xa9", 2);
    text[3999] = '\0';
    incus_error_set(&long_error, INCUS_ERROR_OTHER, text);
    assert_in_range(strlen(long_error->message), 500, 700);
    assert_true(str_is_utf8(long_error->message, strlen(long_error->message)));
    incus_error_set(&empty_error, INCUS_ERROR_OTHER, "");
    assert_string_equal(empty_error->message, "Incus: it refused and gave no reason");
}
