/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "gate/origin.h"

/* What a question does not say is NULL. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

struct question {
    const char *method, *site, *mode, *destination, *origin, *accept, *upgrade;
};

static bool is_foreign(struct question question)
{
    char text[7][128];
    char *parameters[8] = {NULL};
    size_t count = 0;
    const char *const names[] = {"SANDLOT_METHOD",      "SANDLOT_SITE", "HTTP_SEC_FETCH_MODE",
                                 "HTTP_SEC_FETCH_DEST", "HTTP_ORIGIN",  "HTTP_ACCEPT",
                                 "SANDLOT_UPGRADE"};
    const char *const values[] = {question.method,      question.site,   question.mode,
                                  question.destination, question.origin, question.accept,
                                  question.upgrade};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (!values[i])
            continue;
        snprintf(text[i], sizeof text[i], "%s=%s", names[i], values[i]);
        parameters[count++] = text[i];
    }
    struct http_request request;
    http_request_init(&request, parameters, 0);
    bool result = origin_is_foreign(&request);
    http_request_deinit(&request);
    return result;
}

TEST(test_own_pages_do_what_they_like)
{
    assert_false(is_foreign((struct question){"GET", "own", "cors", "empty", .origin = NULL}));
    assert_false(is_foreign((struct question){"POST", "own", "navigate", "document", "null"}));
    assert_false(is_foreign((struct question){"GET", "own", .upgrade = "websocket"}));
    assert_false(is_foreign((struct question){"DELETE", "own"}));
}

TEST(test_other_pages_may_open_it)
{
    assert_false(is_foreign((struct question){"GET", "other", "navigate", "document"}));
    assert_false(is_foreign((struct question){"HEAD", "other", "navigate", "document"}));
    assert_false(is_foreign((struct question){"GET", "other", .accept = "text/html,*/*;q=0.8"}));
}

TEST(test_other_pages_may_do_nothing_else)
{
    static const struct question refused[] = {
        {"POST", "other", "navigate", "document", "https://x"},
        {"POST", "other", "navigate", "document"},
        {"GET", "other", "navigate", "iframe"},
        {"GET", "other", "navigate", "embed"},
        {"GET", "other", "navigate"},
        {"GET", "other", "no-cors", "image", .accept = "text/html"},
        {"GET", "other", "cors", "empty", "https://x", "text/html"},
        {"GET", "other", "websocket", "websocket", "https://x", .upgrade = "websocket"},
        {"GET", "other", "navigate", "document", .upgrade = "websocket"},
        {"GET", "other", .accept = "text/html", .upgrade = "websocket"},
        {"GET", "other", .origin = "https://x", .accept = "text/html"},
        {"GET", "other", .accept = "image/*"},
        {"GET", "other"},
        {"PUT", "other", .accept = "text/html"},
        {"GET", NULL, "cors", "empty"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
        assert_true(is_foreign(refused[i]));
}
