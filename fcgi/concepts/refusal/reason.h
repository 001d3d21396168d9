/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reasons why a request does not get to a sandbox: the table of reasons.def. Gate and nginx pass a
 * reason on by its name. The client sees a status with a JSON body, or a page.
 */
#pragma once

#include <stdbool.h>

enum refusal_reason {
#define X(symbol, reason, data_status, preview_status, code, sentence, title, lead, step) symbol,
#include "refusal/reasons.def"
#undef X
    REFUSAL_REASON_COUNT
};

const char *refusal_reason_name(enum refusal_reason reason);
/* Return 0, or -1 when no reason has this name. */
int refusal_reason_parse(const char *name, enum refusal_reason *reason);
/* Return the HTTP status of the answer. is_preview: a browser asked for a preview. */
int refusal_reason_status(enum refusal_reason reason, bool is_preview);
/* Return the code and the message of the JSON body. */
const char *refusal_reason_code(enum refusal_reason reason);
const char *refusal_reason_sentence(enum refusal_reason reason);

/* The texts of a reason's page: HTML with {{base_url}} and {{port}} to fill in. */
struct refusal_reason_page {
    const char *title; /* "": this reason has no page */
    const char *lead;  /* the problem */
    const char *step;  /* how the reader can solve it */
};
const struct refusal_reason_page *refusal_reason_page(enum refusal_reason reason);
