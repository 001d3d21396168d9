/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a person meets in a browser instead of a preview: one self-contained page, whose layout is
 * page.html with page.css, and page.js where it waits for a server to come up.
 */
#pragma once

#include "http/http.h"
#include "refusal/reason.h"

struct refusal_html {
    enum refusal_reason reason;
    int status;
    bool waits;           /* asks by itself until a server listens, and loads the address again */
    const char *base_url; /* of the API */
    const char *host;     /* as the client sent it; anything */
    const char *port;     /* as the client sent it; anything */
    const char *request_id;
};

/* Answer with the page and the headers that keep it to itself. Everything that is not ours is
 * escaped. */
void refusal_html_answer(const struct refusal_html *page, struct http_response *response);

/* Parts of such a page for who serves it without us (nginx, when the gate is not asked or does not
 * answer): the page as text, owned by the caller, with style in the place of the style sheet; that
 * style sheet; and the Content-Security-Policy of a page that does not wait, owned by the caller.
 */
char *refusal_html_text(const struct refusal_html *page, const char *style);
const char *refusal_html_style(void);
char *refusal_html_policy(void);
