/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page that a browser shows when a preview cannot be served. It is self-contained: page.html
 * with page.css, and page.js when it waits for a server to start.
 */
#pragma once

#include "http/http.h"
#include "refusal/reason.h"

struct refusal_html {
    enum refusal_reason reason;
    int status;
    bool waits;           /* its script asks until a server listens, then loads the address again */
    const char *base_url; /* of the API */
    const char *host;     /* from the client: any text */
    const char *port;     /* from the client: any text */
    const char *request_id;
};

/* Answer with the page and with headers that let it load nothing from elsewhere. All texts of
 * clients are escaped. */
void refusal_html_answer(const struct refusal_html *page, struct http_response *response);

/* Return the parts of such a page. nginx serves them when it does not ask the gate, or gets no
 * answer.
 *
 * - refusal_html_text(): the page with `style` instead of the style sheet; the caller frees it.
 * - refusal_html_style(): the style sheet; static.
 * - refusal_html_policy(): Content-Security-Policy of pages that do not wait; the caller frees
 * it. */
char *refusal_html_text(const struct refusal_html *page, const char *style);
const char *refusal_html_style(void);
char *refusal_html_policy(void);
