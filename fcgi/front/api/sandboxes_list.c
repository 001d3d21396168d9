/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of sandboxes. Rows with an unchanged version come from the kept answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/access_revision.h"
#include "api/answer_cache.h"
#include "api/page_list.h"
#include "api/sandbox_output.h"
#include "base/mem.h"
#include "base/str.h"

/* The rows of a longer page are mostly not kept. */
#define SHOWN_PAGE_MAX 100

struct row {
    char id[ID_SIZE];
    char *text;
    size_t size;
};
PAGE_ROW(struct row);

static void row_deinit(void *row)
{
    free(((struct row *)row)->text);
}

static size_t row_size(const void *row)
{
    return ((const struct row *)row)->size;
}

static void write_row(const struct api *api, const void *row, struct buffer *out)
{
    const struct row *shown = row;
    (void)api;
    buffer_append(out, shown->text, shown->size);
}

/* Return the limit of a list without other parameters; 0: it has others. */
static unsigned plain_limit(const struct http_request *request)
{
    static const char name[] = "limit=";
    const char *query = http_parameter(request, "QUERY_STRING");
    uint64_t limit = 0;
    if (!query)
        return PAGE_LIMIT_DEFAULT;
    return str_starts_with(query, name) &&
                   str_parse_u64(query + strlen(name), 1, SHOWN_PAGE_MAX, &limit) == 0
               ? (unsigned)limit
               : 0;
}

int sandboxes_look(void *context, const struct http_request *request, uint64_t *revision,
                   struct error **err)
{
    struct api *api = context;
    struct ahead *ahead = &api->ahead;
    unsigned limit = plain_limit(request);
    if (!limit || api->principal.team_count != 1)
        return access_revision_get(api->worker.db, revision, err);
    ahead->limit = limit + 1; /* one more, to find out whether there is another page */
    ahead->listed = xcalloc(ahead->limit, sizeof *ahead->listed);
    memcpy(ahead->team_id, api->principal.teams[0].id, sizeof ahead->team_id);
    if (sandbox_list_newest(api->worker.db, ahead->team_id, ahead->limit, ahead->listed,
                            &ahead->count, revision, err) < 0)
        return -1;
    if (!ahead->count)
        return access_revision_get(api->worker.db, revision, err);
    ahead->what = AHEAD_LIST;
    return 0;
}

static const struct shown *find_shown(const struct page_query *query,
                                      const struct sandbox_listed *listed)
{
    const struct shown *shown = shown_find(listed->id);
    return shown && shown->version == listed->version &&
                   str_equal(shown->team_id, query->team_id) &&
                   str_equal(shown->team_slug, query->team_slug)
               ? shown
               : NULL;
}

/* Make the rows from kept answers. Returns false when the list was not read ahead, or a sandbox has
 * changed since its answer was kept. */
static bool list_shown(const struct page_query *query, struct row **rows, unsigned *count)
{
    const struct ahead *ahead = &query->api->ahead;
    if (ahead->what != AHEAD_LIST || ahead->limit != query->limit || query->before ||
        !str_equal(ahead->team_id, query->team_id))
        return false;
    for (unsigned i = 0; i < ahead->count; i++)
        if (!find_shown(query, &ahead->listed[i]))
            return false;
    *rows = xcalloc(ahead->count + 1, sizeof **rows);
    for (*count = 0; *count < ahead->count; ++*count) {
        const struct shown *shown = find_shown(query, &ahead->listed[*count]);
        struct row *row = &(*rows)[*count];
        memcpy(row->id, shown->id, sizeof row->id);
        row->text = xmemdup(shown->text, shown->size);
        row->size = shown->size;
    }
    return true;
}

static void show(const struct page_query *query, struct sandbox *sandbox, struct row *row)
{
    struct buffer text = BUFFER_INIT(HTTP_RESPONSE_BYTES_MAX);
    snprintf(sandbox->team_slug, sizeof sandbox->team_slug, "%s", query->team_slug);
    sandbox_write(query->api->settings, sandbox, &text);
    memcpy(row->id, sandbox->id, sizeof row->id);
    row->size = text.size;
    row->text = buffer_steal(&text);
    shown_keep(sandbox, row->text, row->size);
}

static int list_rows(struct db *db, const struct page_query *query, void **rows, unsigned *count,
                     struct error **err)
{
    struct row *shown = NULL;
    struct sandbox *sandboxes = NULL;
    if (list_shown(query, &shown, count)) {
        *rows = shown;
        return 0;
    }
    int result = sandbox_list(db, query->team_id, &query->page->filter, query->before, query->limit,
                              &sandboxes, count, query->cut, err);
    shown = xcalloc(*count + 1, sizeof *shown);
    for (unsigned i = 0; i < *count; i++) {
        show(query, &sandboxes[i], &shown[i]);
        sandbox_deinit(&sandboxes[i]);
    }
    free(sandboxes);
    *rows = shown;
    return result;
}

int sandboxes_list(void *context, struct http_request *request, struct http_response *response,
                   struct error **err)
{
    static const struct page_kind kind = {
        .member = "sandboxes",
        .row_size = sizeof(struct row),
        .list = list_rows,
        .write = write_row,
        .deinit = row_deinit,
        .size = row_size,
    };
    return page_list(context, &kind, request, response, err);
}
