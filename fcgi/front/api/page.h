/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of a list, ordered by age. A page token is the last id of the previous page and a MAC over
 * this id and all filters. So a token is valid only with the same filters.
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
    const struct team **teams; /* the teams of the rows; owned array of borrowed teams */
    unsigned team_count;
    const char *sandbox_id, *name; /* of lists with these filters, borrowed; NULL: all */
    struct sandbox_filter filter;  /* its texts are borrowed from the request */
    struct audit_filter audit;     /* as for filter */
    struct buffer filters;         /* the canonical text for the token's MAC */
};
void page_deinit(struct page *page);

/* Read the page of a list from the query. team: NULL for all teams that the key reaches. The route
 * chooses among the parameters limit, next_token, sandbox_id, name, query[metadata][…],
 * query[state][], order, started_after, template, action, resource, actor, since and until. Errors:
 * ERR_INVALID_REQUEST, ERR_INVALID_NEXT_TOKEN. */
int page_read(const struct principal *principal, const struct team *team,
              const struct keyring *ring, const struct http_request *request, struct page *page,
              struct error **err);

/* Read limit and next_token of a list for operators, who may see all rows. The token is the last
 * name or id of the previous page. It is written to *after (NULL: first page). Errors: as above. */
int page_read_plain(const struct http_request *request, bool (*is_valid)(const char *),
                    const char **after, uint64_t *limit, struct error **err);

/* Write the next_token for the page after the row with last_id. */
int page_next(const struct page *page, const struct keyring *ring, const char *last_id,
              char token[PAGE_TOKEN_SIZE], struct error **err);
