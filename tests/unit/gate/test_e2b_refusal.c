/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "gate/e2b_refusal.h"

struct question {
    const char *target, *path;
    enum refusal_reason reason;
    int status;
};

/* Return the answer's body; *status: its status. */
static json_t *answer(struct question question, int *status)
{
    char target[64], path[128], route[] = "SANDLOT_ROUTE=abc";
    char *parameters[] = {target, path, route, NULL};
    snprintf(target, sizeof target, "SANDLOT_TARGET=%s", question.target);
    snprintf(path, sizeof path, "SANDLOT_URI=%s", question.path);
    struct http_request request;
    struct http_response response;
    http_request_init(&request, parameters, 0);
    http_response_init(&response);
    e2b_refusal_answer(&request, question.reason, question.status, &response);
    json_t *body = json_incref(response.json);
    *status = response.status;
    http_response_deinit(&response);
    http_request_deinit(&request);
    return body;
}

TEST(test_a_busy_sandbox_is_no_existing_directory)
{
    static const char *const calls[] = {"/filesystem.Filesystem/MakeDir", "/process.Process/Start"};
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        int status;
        json_auto_t *body = answer((struct question){"data", calls[i], REFUSAL_BUSY, 409}, &status);
        assert_int_equal(status, 409);
        assert_string_equal(json_string_value(json_object_get(body, "code")),
                            "failed_precondition");
        assert_string_equal(json_string_value(json_object_get(body, "sandboxId")), "abc");
    }
}

TEST(test_other_refusals_have_a_number)
{
    static const struct {
        struct question question;
        int status;
    } cases[] = {
        {{"data", "/files", REFUSAL_BUSY, 409}, 409},
        {{"preview", "/process.Process/Start", REFUSAL_BUSY, 503}, 409},
        {{"data", "/process.Process/Start", REFUSAL_PAUSED, 409}, 502},
        {{"data", "/health", REFUSAL_HOST_LOST, 409}, 502},
        {{"data", "/filesystem.Filesystem/MakeDir", REFUSAL_QUOTA, 422}, 429},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int status;
        json_auto_t *body = answer(cases[i].question, &status);
        assert_int_equal(status, cases[i].status);
        assert_int_equal(json_integer_value(json_object_get(body, "code")), cases[i].status);
    }
}
