/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The handler for each list of rows that is ordered by age, over a key's teams. */
#pragma once

#include "api/api.h"
#include "api/page.h"

/* The query for the rows of one team. */
struct page_query {
    const struct api *api;
    const struct page *page; /* for its filters */
    const char *team_id, *team_slug;
    const char *before; /* the last id of the previous page; NULL: first page */
    unsigned limit;
    bool *cut; /* set it when the rows end here because of their size */
    char *end; /* ID_SIZE bytes: set it to an id when rows behind it may be left */
};

struct page_kind {
    const char *member; /* the member of the answer with the rows */
    size_t row_size;
    /* Read the next rows of a team, newest first unless page->filter.oldest_first. The caller
     * deinits each row and frees the array, also after errors. */
    int (*list)(struct db *db, const struct page_query *query, void **rows, unsigned *count,
                struct error **err);
    /* Read further columns of the rows on the page; NULL: not needed. */
    int (*complete)(struct db *db, void *rows, unsigned count, struct error **err);
    json_t *(*to_json)(const struct api *api, const void *row); /* NULL: leave it out */
    /* Append the row as text; replaces to_json. */
    void (*write)(const struct api *api, const void *row, struct buffer *out);
    void (*deinit)(void *row); /* NULL: a row owns nothing */
    /* Return the bytes of a row's texts, if users can make them large; NULL: they are small. */
    size_t (*size)(const void *row);
};

/* Check that a row begins with its id, which gives its place in the list. */
#define PAGE_ROW(type)                                                            \
    _Static_assert(offsetof(type, id) == 0 && sizeof(((type *)0)->id) == ID_SIZE, \
                   "a row begins with its id")

/* The list of sandboxes in /v1. Another API that shows the same rows in another form copies it and
 * replaces to_json(). */
extern const struct page_kind sandboxes_page;

/* Answer the request with its page of the list.
 * Errors: those of page_read() and of the kind's functions. */
int page_list(struct api *api, const struct page_kind *kind, const struct http_request *request,
              struct http_response *response, struct error **err);
