/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "refusal/html.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "base/mem.h"
#include "refusal/page_files.h" /* made from page.html, page.css and page.js */

#define FRAGMENT_MAX 65536
#define NAME_BYTES   32
#define HASH_TEXT    64 /* base64 of SHA-256, and room */

/* {{name}} in a template. */
struct slot {
    const char *name;
    const char *value;
    bool is_html; /* made by this file; inserted without escaping */
};

static void append_escaped(struct buffer *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&':
            buffer_append_string(out, "&amp;");
            break;
        case '<':
            buffer_append_string(out, "&lt;");
            break;
        case '>':
            buffer_append_string(out, "&gt;");
            break;
        case '"':
            buffer_append_string(out, "&quot;");
            break;
        case '\'':
            buffer_append_string(out, "&#39;");
            break;
        default:
            buffer_append_char(out, *text);
        }
    }
}

static void append_slot(struct buffer *out, const char *name, size_t length,
                        const struct slot *slots)
{
    while (slots->name && (strlen(slots->name) != length || strncmp(slots->name, name, length)))
        slots++;
    assert(slots->name); /* templates and slots both come from this folder */
    if (slots->is_html)
        buffer_append_string(out, slots->value);
    else
        append_escaped(out, slots->value);
}

/* Append the template with its slots filled in. slots ends with a row without a name. */
static void expand(struct buffer *out, const char *template, const struct slot *slots)
{
    for (const char *open; (open = strstr(template, "{{")); template = open) {
        buffer_append(out, template, (size_t)(open - template));
        open += 2;
        size_t length = strcspn(open, "}");
        assert(length < NAME_BYTES && !strncmp(open + length, "}}", 2));
        append_slot(out, open, length, slots);
        open += length + 2;
    }
    buffer_append_string(out, template);
}

static const char *tone(int status)
{
    if (status == 401 || status == 404)
        return "calm";
    return status == 429 || status == 503 ? "wait" : "bad";
}

static const char *status_line(int status)
{
    switch (status) {
    case 401:
        return "401 · not authorized";
    case 403:
        return "403 · refused";
    case 404:
        return "404 · not found";
    case 429:
        return "429 · too many requests";
    case 502:
        return "502 · no answer from the sandbox";
    case 503:
        return "503 · not available";
    case 504:
        return "504 · no answer in time";
    default:
        return "this did not work";
    }
}

static char *fragment(const char *template, const struct slot *slots)
{
    struct buffer text;
    buffer_init(&text, FRAGMENT_MAX);
    expand(&text, template, slots);
    return buffer_steal(&text);
}

static void append_page(struct buffer *out, const struct refusal_html *page, const char *style)
{
    const struct slot outside[] = {
        {"base_url", page->base_url, false},
        {"port", page->port, false},
        {"host", page->host, false},
        {NULL, NULL, false},
    };
    const struct refusal_reason_page *texts = refusal_reason_page(page->reason);
    autofree char *title = fragment(texts->title, outside);
    autofree char *lead = fragment(texts->lead, outside);
    autofree char *step = fragment(texts->step, outside);
    autofree char *script = xasprintf("<script>%s</script>", page_js);
    autofree char *where = fragment(*page->host ? "<span>{{host}}</span>" : "", outside);
    const struct slot slots[] = {
        {"title", title, true},
        {"style", style, true},
        {"tone", page->waits ? "wait" : tone(page->status), false},
        {"status", page->waits ? "waiting for your server" : status_line(page->status), false},
        {"lead", lead, true},
        {"step", step, true},
        {"waiting",
         page->waits ? "<p id=\"waiting\" role=\"status\">This page opens it as soon as it is "
                       "up.</p>"
                     : "",
         true},
        {"where", where, true},
        {"request_id", page->request_id, false},
        {"script", page->waits ? script : "", true},
        {NULL, NULL, false},
    };
    expand(out, page_html, slots);
}

/* Content-Security-Policy names an inline style or script by its hash. */
static void hash_source(const char *text, char out[HASH_TEXT])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)text, strlen(text));
    sodium_bin2base64(out, HASH_TEXT, hash, sizeof hash, sodium_base64_VARIANT_ORIGINAL);
}

/* Sites that show previews in a frame show these pages there too, so frame-ancestors is left open.
 * It is safe: nothing on a page can be clicked. */
static char *policy(bool waits)
{
    char style[HASH_TEXT], script[HASH_TEXT];
    hash_source(page_css, style);
    hash_source(page_js, script);
    autofree char *waiting =
        waits ? xasprintf("; script-src 'sha256-%s'; connect-src 'self'", script) : xstrdup("");
    return xasprintf("default-src 'none'; style-src 'sha256-%s'%s; base-uri 'none'; "
                     "form-action 'none'",
                     style, waiting);
}

static void add_headers(const struct refusal_html *page, struct http_response *response)
{
    autofree char *value = policy(page->waits);
    http_response_header(response, "Content-Security-Policy", "%s", value);
    http_response_header(response, "X-Content-Type-Options", "nosniff");
    http_response_header(response, "Referrer-Policy", "no-referrer");
}

void refusal_html_answer(const struct refusal_html *page, struct http_response *response)
{
    response->status = page->status;
    response->content_type = "text/html; charset=utf-8";
    add_headers(page, response);
    append_page(&response->body, page, page_css);
}

const char *refusal_html_style(void)
{
    return page_css;
}

char *refusal_html_policy(void)
{
    return policy(false);
}

char *refusal_html_text(const struct refusal_html *page, const char *style)
{
    struct buffer text;
    buffer_init(&text, FRAGMENT_MAX);
    append_page(&text, page, style);
    return buffer_steal(&text);
}
