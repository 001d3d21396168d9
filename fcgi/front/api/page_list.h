/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The handler of a list, for every kind of row that is shown by its age over a key's teams. */
#pragma once

#include "api/api.h"
#include "api/page.h"

/* What is asked of one team. */
struct page_query {
    const struct api *api;
    const struct page *page; /* its filters */
    const char *team_id, *team_slug;
    const char *before; /* the id that was shown last; NULL: from the beginning */
    unsigned limit;
};

struct page_kind {
    const char *member; /* of the answer */
    size_t row_size;
    /* The next rows of a team, newest first unless page->filter.oldest_first. The caller deinits
     * each and frees the array, also on errors. */
    int (*list)(struct db *db, const struct page_query *query, void **rows, unsigned *count,
                struct error **err);
    /* Reads what the rows that will be shown have elsewhere; NULL: nothing. */
    int (*complete)(struct db *db, void *rows, unsigned count, struct error **err);
    json_t *(*to_json)(const struct api *api, const void *row);
    /* Or as text, which is appended. */
    void (*write)(const struct api *api, const void *row, struct buffer *out);
    void (*deinit)(void *row); /* NULL: a row holds nothing */
};

/* By its id, which it begins with, a row finds its place in the list. */
#define PAGE_ROW(type)                                                            \
    _Static_assert(offsetof(type, id) == 0 && sizeof(((type *)0)->id) == ID_SIZE, \
                   "a row begins with its id")

/* The lists of /v1. An interface that shows the same rows in another form copies one, with a
 * to_json() of its own. */
extern const struct page_kind sandboxes_page, checkpoints_page;

/* Answer the request with its page of the list.
 * Errors: those of page_read() and of the kind's functions. */
int page_list(struct api *api, const struct page_kind *kind, const struct http_request *request,
              struct http_response *response, struct error **err);
