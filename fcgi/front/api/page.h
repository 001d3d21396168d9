/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of a list, by age, by keyset: a page token is the last id that was shown, and a MAC
 * over it and everything that chose the rows, so that it is of use with the same filters only.
 */
#pragma once

#include "account/api_key.h"
#include "api/page_token.h"
#include "audit/audit.h"
#include "http/http.h"
#include "sandbox/sandbox_list.h"

#define PAGE_LIMIT_DEFAULT 50
#define PAGE_LIMIT_MAX     200

struct page {
    unsigned limit;
    char before[ID_SIZE];      /* "" on the first page */
    const struct team **teams; /* whose rows; owned array of borrowed teams */
    unsigned team_count;
    const char *sandbox_id, *name; /* of lists that have these filters, borrowed; NULL: all */
    struct sandbox_filter filter;  /* its bytes are borrowed from the request */
    struct audit_filter audit;     /* likewise its texts */
    struct buffer filters;         /* what the token is bound to, in one canonical form */
};
void page_deinit(struct page *page);

/* Of a team, or of all that the key reaches for NULL, and from the query parameters limit,
 * next_token, sandbox_id, name, query[metadata][…], query[state][], order, started_after, template,
 * and action, resource, actor, since and until, as far as the route has them. Errors:
 * ERR_INVALID_REQUEST, ERR_INVALID_NEXT_TOKEN. */
int page_read(const struct principal *principal, const struct team *team,
              const struct keyring *ring, const struct http_request *request, struct page *page,
              struct error **err);

/* The next_token behind the row of that id. */
int page_next(const struct page *page, const struct keyring *ring, const char *last_id,
              char token[PAGE_TOKEN_SIZE], struct error **err);
