/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "refusal/html.h"

static void render(struct refusal_html page, struct http_response *response)
{
    http_response_init(response);
    refusal_html_answer(&page, response);
}

static struct refusal_html page_of(enum refusal_reason reason)
{
    return (struct refusal_html){
        .reason = reason,
        .status = refusal_reason_status(reason, true),
        .base_url = "https://api.example",
        .host = "p3000-x.example",
        .port = "3000",
        .request_id = "abc123",
    };
}

/* Each reason with a page has all its texts, and no slot is left open. */
TEST(test_every_reason)
{
    for (int i = 0; i < REFUSAL_REASON_COUNT; i++) {
        enum refusal_reason reason = (enum refusal_reason)i;
        int status = refusal_reason_status(reason, true);
        const struct refusal_reason_page *texts = refusal_reason_page(reason);
        if (status < 400 || !*texts->title)
            continue;
        assert_true(*texts->lead && *texts->step);
        struct http_response response;
        render(page_of(reason), &response);
        assert_int_equal(response.status, status);
        assert_string_equal(response.content_type, "text/html; charset=utf-8");
        const char *text = buffer_string(&response.body);
        assert_null(strstr(text, "{{"));
        assert_non_null(strstr(text, "abc123"));
        assert_non_null(strstr(text, "</html>"));
        assert_null(strstr(text, "<script>"));
        assert_null(strstr(buffer_string(&response.headers), "script-src"));
        http_response_deinit(&response);
    }
}

TEST(test_what_is_not_ours_is_escaped)
{
    static const char evil[] = "\"><script>alert('1')</script>&{{script}}";
    struct http_response response;
    struct refusal_html page = page_of(REFUSAL_PORT_NOT_EXPOSED);
    page.host = page.port = page.base_url = page.request_id = evil;
    render(page, &response);
    const char *text = buffer_string(&response.body);
    assert_null(strstr(text, "<script>"));
    assert_non_null(strstr(text, "&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;"));
    http_response_deinit(&response);
}

TEST(test_only_a_waiting_page_has_a_script)
{
    struct http_response response;
    struct refusal_html page = page_of(REFUSAL_NO_LISTENER);
    page.waits = true;
    render(page, &response);
    assert_non_null(strstr(buffer_string(&response.body), "<script>"));
    const char *headers = buffer_string(&response.headers);
    assert_non_null(strstr(headers, "default-src 'none'; style-src 'sha256-"));
    assert_non_null(strstr(headers, "; script-src 'sha256-"));
    assert_non_null(strstr(headers, "; connect-src 'self'"));
    assert_null(strstr(headers, "unsafe"));
    http_response_deinit(&response);
}
