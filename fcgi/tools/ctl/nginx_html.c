/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/nginx_html.h"

#include <assert.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/str.h"
#include "refusal/html.h"

#define WORD_MAX 4000 /* nginx reads no longer word than its buffer of 4096 */

static char *quoted(const char *text)
{
    struct buffer word;
    buffer_init(&word, WORD_MAX);
    buffer_append_char(&word, '\'');
    for (; *text; text++)
        buffer_printf(&word, "%s%c", *text == '\'' || *text == '\\' ? "\\" : "", *text);
    buffer_append_char(&word, '\'');
    assert(!buffer_overflowed(&word)); /* all characters are ours */
    return buffer_steal(&word);
}

static char *page_of(enum refusal_reason reason, int status, const char *base_url)
{
    const struct refusal_html page = {
        .reason = reason,
        .status = status,
        .base_url = base_url,
        .host = "",
        .port = "",
        .request_id = "$sandlot_request_id",
    };
    autofree char *text = refusal_html_text(&page, "$sandlot_page_style");
    return quoted(text);
}

char *nginx_html_value(const char *name, const char *base_url)
{
    if (str_equal(name, "page_style"))
        return quoted(refusal_html_style());
    if (str_equal(name, "page_404"))
        return page_of(REFUSAL_NO_SANDBOX, 404, base_url);
    if (str_equal(name, "page_429"))
        return page_of(REFUSAL_RATE_LIMITED, 429, base_url);
    if (str_equal(name, "page_503"))
        return page_of(REFUSAL_UNAVAILABLE, 503, base_url);
    if (!str_equal(name, "page_policy"))
        return NULL;
    autofree char *policy = refusal_html_policy();
    char *word = xasprintf("\"%s\"", policy);
    return word;
}
