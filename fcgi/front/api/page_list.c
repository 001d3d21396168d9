/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/page_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "base/mem.h"

#define PAGE_BYTES_MAX (4u << 20) /* of rows with a size; one row may be larger */

struct rows {
    const struct page_kind *kind;
    char *bytes;
    unsigned count;
    /* The id at which the page ends because of its size, or because so many rows were read; "": it
     * does not. A team may have further rows after it, so those of other teams come on the next
     * page too. */
    char end[ID_SIZE];
};

static void *row_at(const struct rows *rows, unsigned index)
{
    return rows->bytes + index * rows->kind->row_size;
}

static void drop_last(struct rows *rows)
{
    rows->count--;
    if (rows->kind->deinit)
        rows->kind->deinit(row_at(rows, rows->count));
}

static void rows_deinit(struct rows *rows)
{
    while (rows->count)
        drop_last(rows);
    free(rows->bytes);
}

static int newest_first(const void *a, const void *b)
{
    return strcmp(b, a);
}

static int oldest_first(const void *a, const void *b)
{
    return strcmp(a, b);
}

typedef int order_function(const void *a, const void *b);

static void end_at(struct rows *rows, const char *id, order_function *order)
{
    if (!*rows->end || order(id, rows->end) < 0)
        snprintf(rows->end, sizeof rows->end, "%s", id);
}

/* End the page at the row that is too much. */
static void bound_size(struct rows *rows, order_function *order)
{
    size_t size = 0;
    for (unsigned i = 0; rows->kind->size && i < rows->count; i++) {
        size += rows->kind->size(row_at(rows, i));
        if (size > PAGE_BYTES_MAX && i)
            return end_at(rows, row_at(rows, i - 1), order);
    }
}

static bool is_behind(const struct rows *rows, const char *id, order_function *order)
{
    return *rows->end && order(id, rows->end) > 0;
}

/* Read the rows of the page, and one more if there is a next page. Each team's rows come sorted
 * from an index; this function merges them. */
static int read_rows(const struct api *api, const struct page *page, struct rows *rows,
                     struct error **err)
{
    struct page_query query = {.api = api,
                               .page = page,
                               .before = *page->before ? page->before : NULL,
                               .limit = page->limit + 1};
    order_function *order = page->filter.oldest_first ? oldest_first : newest_first;
    for (unsigned i = 0; i < page->team_count; i++) {
        autofree void *found = NULL;
        unsigned count = 0;
        bool cut = false;
        char end[ID_SIZE] = "";
        query.cut = &cut;
        query.end = end;
        query.team_id = page->teams[i]->id;
        query.team_slug = page->teams[i]->slug;
        int result = rows->kind->list(api->worker.db, &query, &found, &count, err);
        rows->bytes = xreallocarray(rows->bytes, rows->count + count + 1, rows->kind->row_size);
        if (count)
            memcpy(row_at(rows, rows->count), found, count * rows->kind->row_size);
        rows->count += count;
        if (result < 0)
            return -1;
        if (cut)
            end_at(rows, row_at(rows, rows->count - 1), order);
        if (*end)
            end_at(rows, end, order);
        qsort(rows->bytes, rows->count, rows->kind->row_size, order);
        bound_size(rows, order);
        while (rows->count > query.limit ||
               (rows->count && is_behind(rows, row_at(rows, rows->count - 1), order)))
            drop_last(rows);
    }
    return 0;
}

/* Return the first rows, and the token of the next page unless it is "". */
static json_t *page_to_json(const struct api *api, const struct rows *rows, unsigned shown,
                            const char *next)
{
    json_t *body = json_object(), *list = json_array();
    json_object_set_new(body, rows->kind->member, list);
    for (unsigned i = 0; i < shown; i++)
        json_array_append_new(list, rows->kind->to_json(api, row_at(rows, i)));
    if (*next)
        json_object_set_new(body, "next_token", json_string(next));
    return body;
}

static void write_text(const struct api *api, const struct rows *rows, unsigned shown,
                       const char *next, struct buffer *out)
{
    buffer_append_char(out, '{');
    json_text_name(out, rows->kind->member);
    buffer_append_char(out, '[');
    for (unsigned i = 0; i < shown; i++) {
        json_text_name(out, "");
        rows->kind->write(api, row_at(rows, i), out);
    }
    buffer_append_char(out, ']');
    if (*next)
        json_text_string(out, "next_token", next);
    buffer_append_char(out, '}');
}

static int write_page(struct api *api, const struct page *page, struct rows *rows,
                      struct http_response *response, struct error **err)
{
    const struct page_kind *kind = rows->kind;
    char next[PAGE_TOKEN_SIZE] = "";
    if (read_rows(api, page, rows, err) < 0)
        return -1;
    unsigned shown = rows->count < page->limit ? rows->count : page->limit;
    if (kind->complete && kind->complete(api->worker.db, rows->bytes, shown, err) < 0)
        return -1;
    /* A page without rows may have an end. */
    const char *last = rows->count > page->limit ? row_at(rows, shown - 1) : rows->end;
    if (*last && page_next(page, api->worker.ring, last, next, err) < 0)
        return -1;
    if (kind->to_json)
        return http_response_json(response, 200, page_to_json(api, rows, shown, next));
    write_text(api, rows, shown, next, &response->body);
    return 0;
}

int page_list(struct api *api, const struct page_kind *kind, const struct http_request *request,
              struct http_response *response, struct error **err)
{
    struct page page;
    struct rows rows = {.kind = kind};
    if (page_read(&api->principal, api->access.team, api->worker.ring, request, &page, err) < 0)
        return -1;
    int result = write_page(api, &page, &rows, response, err);
    rows_deinit(&rows);
    page_deinit(&page);
    return result;
}
