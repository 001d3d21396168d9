/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "gate/audience.h"

static bool wants_page(const char *accept, const char *mode, const char *destination)
{
    char text[3][128];
    char *parameters[4] = {NULL};
    size_t count = 0;
    const char *const names[] = {"ACCEPT", "SEC_FETCH_MODE", "SEC_FETCH_DEST"};
    const char *const values[] = {accept, mode, destination};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (!values[i])
            continue;
        snprintf(text[i], sizeof text[i], "HTTP_%s=%s", names[i], values[i]);
        parameters[count++] = text[i];
    }
    struct http_request request;
    http_request_init(&request, parameters, 0);
    bool wants = audience_wants_page(&request);
    http_request_deinit(&request);
    return wants;
}

TEST(test_accept)
{
    static const char *const people[] = {
        "text/html",
        "TEXT/HTML",
        "text/html,application/xhtml+xml,*/*;q=0.8",
        "application/json;q=0.5, text/html",
        " , text/html;level=1",
        "text/html;q=0.001",
        "text/html; q=1.0, application/json",
    };
    static const char *const programs[] = {
        NULL,
        "*/*",
        "text/*",
        "application/json",
        "text/htmlx",
        "text/html;q=0",
        "text/html;q=0.000",
        "text/html;q=0.5,application/json;q=0.6",
        ";q=1",
        ",,,",
        "text/html;q=",
    };
    for (size_t i = 0; i < ARRAY_SIZE(people); i++)
        assert_true(wants_page(people[i], NULL, NULL));
    for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
        assert_false(wants_page(programs[i], NULL, NULL));
}

/* At E2B's hosts a browser is known by its name; elsewhere a name says nothing. */
TEST(test_names_of_browsers)
{
    static const struct {
        bool is_e2b, wants;
        const char *agent, *accept;
    } cases[] = {
        {true, true, "Mozilla/5.0 (X11; Linux x86_64)", NULL},
        {true, true, "Mozilla/5.0 (X11; Linux x86_64)", "*/*"},
        {true, false, "Mozilla/5.0 (X11; Linux x86_64)", "application/json"},
        {true, false, "curl/8.5.0", "*/*"},
        {false, false, "Mozilla/5.0 (X11; Linux x86_64)", "*/*"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char agent[128], accept[128], host[] = "SANDLOT_E2B=1";
        char *parameters[4] = {agent};
        size_t count = 1;
        snprintf(agent, sizeof agent, "HTTP_USER_AGENT=%s", cases[i].agent);
        if (cases[i].accept) {
            snprintf(accept, sizeof accept, "HTTP_ACCEPT=%s", cases[i].accept);
            parameters[count++] = accept;
        }
        if (cases[i].is_e2b)
            parameters[count++] = host;
        struct http_request request;
        http_request_init(&request, parameters, 0);
        assert_int_equal(audience_wants_page(&request), cases[i].wants);
        http_request_deinit(&request);
    }
}

/* What the browser says of a request is worth more than what it accepts. */
TEST(test_fetch_metadata)
{
    assert_true(wants_page("*/*", "navigate", "document"));
    assert_true(wants_page("*/*", "navigate", "iframe"));
    assert_true(wants_page(NULL, "navigate", NULL));
    assert_true(wants_page("text/html", NULL, "document"));
    assert_false(wants_page("text/html", "cors", "empty"));
    assert_false(wants_page("text/html", "no-cors", "document"));
    assert_false(wants_page("text/html", "navigate", "image"));
    assert_false(wants_page("text/html", "websocket", NULL));
}
