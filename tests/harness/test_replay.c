/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Idempotency-Key: what is kept, what is given again, and what is not. */
#include "harness/harness.h"
#include "unit/unit.h"

#include "base/mem.h"
#include "base/str.h"

static int forget(void **state)
{
    recorder_forget();
    return 0;
}

static struct harness_answer create(struct harness *harness, const char *key, const char *body)
{
    autofree char *header = xasprintf("Idempotency-Key: %s", key);
    return harness_api(harness, "POST", "/v1/sandboxes", body, (const char *[]){header, NULL});
}

static const char *text(const struct harness_answer *answer, const char *name)
{
    return json_string_value(json_object_get(answer->json, name));
}

static bool is_replayed(const struct harness_answer *answer)
{
    autofree char *value = harness_header(answer, "Idempotent-Replayed");
    return str_equal(value, "true");
}

static void the_same_request_is_answered_again(void **state)
{
    harness_answer_auto first = create(*state, "same", "{\"timeout\": 60}");
    harness_answer_auto again = create(*state, "same", "{\"timeout\": 60}");
    harness_answer_auto other = create(*state, "other", "{\"timeout\": 60}");
    assert_int_equal(first.status, 201);
    assert_int_equal(again.status, 201);
    assert_false(is_replayed(&first));
    assert_true(is_replayed(&again));
    assert_string_equal(text(&again, "id"), text(&first, "id"));
    assert_non_null(json_object_get(again.json, "session"));
    assert_int_equal(other.status, 201);
    assert_string_not_equal(text(&other, "id"), text(&first, "id"));
    assert_int_equal(recorder_count("create"), 2);
}

static void another_request_of_the_key_is_refused(void **state)
{
    harness_answer_auto first = create(*state, "used", "{\"timeout\": 60}");
    harness_answer_auto other = create(*state, "used", "{\"timeout\": 61}");
    assert_int_equal(first.status, 201);
    assert_int_equal(other.status, 422);
    assert_string_equal(text(&other, "error"), "idempotency_key_reused");
    assert_int_equal(recorder_count("create"), 1);
}

/* What failed by the moment may be tried again under the same key. */
static void a_failure_of_ours_is_not_kept(void **state)
{
    recorder_fail("create", ERR_RUNTIME_UNAVAILABLE);
    harness_answer_auto failed = create(*state, "retry", "{}");
    harness_answer_auto made = create(*state, "retry", "{}");
    assert_int_equal(failed.status, 503);
    assert_int_equal(made.status, 201);
    assert_false(is_replayed(&made));
}

static void a_refusal_is_not_kept(void **state)
{
    harness_answer_auto first = create(*state, "bad", "{\"template\": \"cobol\"}");
    harness_answer_auto again = create(*state, "bad", "{\"template\": \"cobol\"}");
    harness_answer_auto mended = create(*state, "bad", "{}");
    assert_int_equal(first.status, 422);
    assert_int_equal(again.status, 422);
    assert_false(is_replayed(&again));
    assert_int_equal(mended.status, 201);
    assert_false(is_replayed(&mended));
}

static void a_second_delete_is_answered_like_the_first(void **state)
{
    harness_answer_auto made = create(*state, "deleted", "{}");
    autofree char *path = xasprintf("/v1/sandboxes/%s", text(&made, "id"));
    const char *const key[] = {"Idempotency-Key: delete", NULL};
    harness_answer_auto first = harness_api(*state, "DELETE", path, NULL, key);
    harness_answer_auto again = harness_api(*state, "DELETE", path, NULL, key);
    assert_int_equal(first.status, 204);
    assert_int_equal(again.status, 204);
    assert_true(is_replayed(&again));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_same_request_is_answered_again, forget),
        cmocka_unit_test_setup(another_request_of_the_key_is_refused, forget),
        cmocka_unit_test_setup(a_failure_of_ours_is_not_kept, forget),
        cmocka_unit_test_setup(a_refusal_is_not_kept, forget),
        cmocka_unit_test_setup(a_second_delete_is_answered_like_the_first, forget),
    };
    return cmocka_run_group_tests_name(__FILE__, tests, harness_setup, harness_teardown);
}
