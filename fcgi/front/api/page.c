/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/page.h"

#include <stdlib.h>
#include <string.h>

#include "api/query.h"
#include "base/mem.h"
#include "base/str.h"

#define FILTERS_BYTES_MAX (2 * HTTP_QUERY_BYTES_MAX)

void page_deinit(struct page *page)
{
    free(page->teams);
    buffer_deinit(&page->filters);
    *page = (struct page){0};
}

/* Read the token: the id of the previous page's last row. */
static bool read_token(struct page *page, const struct keyring *ring, const char *token)
{
    if (!page_token_read(ring, token, &page->filters, page->before, ID_SIZE - 1))
        return false;
    page->before[ID_SIZE - 1] = '\0';
    return true;
}

static void choose_teams(const struct principal *principal, const struct team *only,
                         struct page *page)
{
    page->teams = xcalloc(principal->team_count + 1, sizeof *page->teams);
    if (only)
        page->teams[page->team_count++] = only;
    for (unsigned i = 0; i < principal->team_count && !only; i++)
        page->teams[page->team_count++] = &principal->teams[i];
}

/* --- filters --- */

#define METADATA_PREFIX "query[metadata]["
#define STATE_PARAMETER "query[state][]"

static int add_state(struct page *page, const char *name, struct error **err)
{
    enum sandbox_state state;
    bool running = str_equal(name, "running"), paused = str_equal(name, "paused");
    if (running || paused) {
        for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++)
            if (sandbox_state_is_shown((enum sandbox_state)i) &&
                sandbox_state_is_live((enum sandbox_state)i) == running)
                page->filter.states[i] = true;
        return 0;
    }
    if (sandbox_state_parse(name, &state) < 0 || !sandbox_state_is_shown(state) ||
        sandbox_state_told(state) != state)
        return error_set_field(err, ERR_INVALID_REQUEST, STATE_PARAMETER,
                               "A state must be creating, ready, restoring, checkpointing, "
                               "stopping, stopped, copying, running or paused.");
    for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++)
        if (sandbox_state_told((enum sandbox_state)i) == state)
            page->filter.states[i] = true;
    return 0;
}

/* Add a filter by metadata. parameter: query[metadata][KEY], where KEY may be any bytes. */
static int add_metadata(struct page *page, const struct http_parameter *parameter,
                        struct error **err)
{
    const size_t prefix = strlen(METADATA_PREFIX);
    if (page->filter.metadata_count == SANDBOX_FILTER_METADATA_MAX)
        return error_set_field(err, ERR_INVALID_REQUEST, "query[metadata]",
                               "A list can be filtered by at most %d metadata keys.",
                               SANDBOX_FILTER_METADATA_MAX);
    page->filter.metadata[page->filter.metadata_count++] = (struct sandbox_filter_pair){
        .name = parameter->name + prefix,
        .name_size = parameter->name_size - prefix - 1,
        .value = parameter->value,
        .value_size = parameter->value_size,
    };
    return 0;
}

/* Read order, time and template. An unknown template is no error, because templates may be created
 * or deleted at any time. */
static int read_picked(const struct http_request *request, struct sandbox_filter *filter,
                       struct error **err)
{
    const char *order = http_query(request, "order");
    filter->name = query_name(request, "name");
    filter->name_prefix = query_name(request, "name_prefix");
    if (filter->name && filter->name_prefix)
        return error_set_field(err, ERR_INVALID_REQUEST, "name_prefix",
                               "Give at most one of name and name_prefix.");
    filter->template = query_name(request, "template");
    filter->oldest_first = str_equal(order, "asc");
    if (order && !filter->oldest_first && !str_equal(order, "desc"))
        return error_set_field(err, ERR_INVALID_REQUEST, "order", "order must be asc or desc.");
    return query_read_time(request, "started_after", &filter->started_after_ms, err);
}

static int read_filter(const struct http_request *request, struct page *page, struct error **err)
{
    for (size_t i = 0; i < request->query_count; i++) {
        const struct http_parameter *parameter = &request->query[i];
        if (str_equal(parameter->name, STATE_PARAMETER)) {
            if (add_state(page, parameter->value, err) < 0)
                return -1;
        } else if (str_starts_with(parameter->name, METADATA_PREFIX)) {
            if (add_metadata(page, parameter, err) < 0)
                return -1;
        }
    }
    return read_picked(request, &page->filter, err);
}

/* Return whether a text can be an actor: an id or a name. */
static bool is_actor(const char *text)
{
    size_t length = 0;
    while (text[length] > ' ' && text[length] < 0x7f)
        length++;
    return length && !text[length] && length < AUDIT_ACTOR_SIZE;
}

static int read_audit(const struct http_request *request, struct audit_filter *audit,
                      struct error **err)
{
    audit->action = http_query(request, "action");
    audit->resource = http_query(request, "resource");
    audit->actor = http_query(request, "actor");
    if (audit->action && !audit_action_is_known(audit->action))
        return error_set_field(err, ERR_INVALID_REQUEST, "action",
                               "There is no action with this name; an example is sandbox.create.");
    if (audit->actor && !is_actor(audit->actor))
        return error_set_field(
            err, ERR_INVALID_REQUEST, "actor",
            "actor must be the id of a key or session, or the id or name of a user.");
    return query_read_time(request, "since", &audit->since_ms, err) < 0
               ? -1
               : query_read_time(request, "until", &audit->until_ms, err);
}

static int by_name(const void *a, const void *b)
{
    const struct sandbox_filter_pair *left = a, *right = b;
    size_t shorter = left->name_size < right->name_size ? left->name_size : right->name_size;
    int order = memcmp(left->name, right->name, shorter);
    return order ? order
                 : (left->name_size > right->name_size) - (left->name_size < right->name_size);
}

static void write_canonical_audit(const struct audit_filter *audit, struct buffer *text)
{
    const char *const texts[] = {audit->action, audit->resource, audit->actor};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (texts[i])
            buffer_printf(text, "\n%zu:%zu:%s", i, strlen(texts[i]), texts[i]);
    if (audit->since_ms || audit->until_ms)
        buffer_printf(text, "\n%lld-%lld", (long long)audit->since_ms, (long long)audit->until_ms);
}

/* Write all filters in canonical form: the same filters in another order give the same bytes.
 * Lengths keep different filters from having the same text. */
static void write_canonical_filters(const struct principal *principal, const char *list,
                                    struct page *page, const char *team)
{
    struct sandbox_filter *filter = &page->filter;
    struct buffer *text = &page->filters;
    buffer_printf(text, "\n%s %s %s ", list, principal->user_id, team ? team : "*");
    if (page->sandbox_id)
        buffer_printf(text, "%s ", page->sandbox_id);
    if (page->name)
        buffer_printf(text, "%zu:%s ", strlen(page->name), page->name);
    for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++)
        buffer_append_char(text, filter->states[i] ? '1' : '0');
    if (filter->name_prefix)
        buffer_printf(text, "\n%zu*%s", strlen(filter->name_prefix), filter->name_prefix);
    write_canonical_audit(&page->audit, text);
    if (filter->oldest_first || filter->started_after_ms || filter->template)
        buffer_printf(text, "\n%d %lld %s", filter->oldest_first,
                      (long long)filter->started_after_ms,
                      filter->template ? filter->template : "");
    qsort(filter->metadata, filter->metadata_count, sizeof filter->metadata[0], by_name);
    for (unsigned i = 0; i < filter->metadata_count; i++) {
        const struct sandbox_filter_pair *pair = &filter->metadata[i];
        buffer_printf(text, "\n%zu %zu ", pair->name_size, pair->value_size);
        buffer_append(text, pair->name, pair->name_size);
        buffer_append(text, pair->value, pair->value_size);
    }
}

/* --- the page --- */

static int read_page(const struct principal *principal, const struct team *team,
                     const struct keyring *ring, const struct http_request *request,
                     struct page *page, struct error **err)
{
    const char *limit = http_query(request, "limit");
    const char *token = http_query(request, "next_token");
    uint64_t number = PAGE_LIMIT_DEFAULT;
    if (limit && str_parse_u64(limit, 1, PAGE_LIMIT_MAX, &number) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "limit",
                               "limit must be a number from 1 to %d.", PAGE_LIMIT_MAX);
    page->limit = (unsigned)number;
    page->sandbox_id = http_query(request, "sandbox_id");
    page->name = query_name(request, "name");
    if (page->sandbox_id && !id_is_valid("sbx_", page->sandbox_id))
        return error_set_field(err, ERR_INVALID_REQUEST, "sandbox_id",
                               "sandbox_id must be the id of a sandbox, sbx_ and 26 characters.");
    if (read_filter(request, page, err) < 0 || read_audit(request, &page->audit, err) < 0)
        return -1;
    choose_teams(principal, team, page);
    write_canonical_filters(principal, request->operation, page, team ? team->slug : NULL);
    if (token && !read_token(page, ring, token))
        return error_set_field(err, ERR_INVALID_NEXT_TOKEN, "next_token",
                               "This next_token does not belong to a list with these filters.");
    return 0;
}

int page_read(const struct principal *principal, const struct team *team,
              const struct keyring *ring, const struct http_request *request, struct page *page,
              struct error **err)
{
    *page = (struct page){0};
    buffer_init(&page->filters, FILTERS_BYTES_MAX);
    if (read_page(principal, team, ring, request, page, err) == 0)
        return 0;
    page_deinit(page);
    return -1;
}

int page_next(const struct page *page, const struct keyring *ring, const char *last_id,
              char token[PAGE_TOKEN_SIZE], struct error **err)
{
    return page_token_write(ring, last_id, ID_SIZE - 1, &page->filters, token, err);
}

int page_read_plain(const struct http_request *request, bool (*is_valid)(const char *),
                    const char **after, uint64_t *limit, struct error **err)
{
    const char *text = http_query(request, "limit");
    *after = http_query(request, "next_token");
    *limit = PAGE_LIMIT_DEFAULT;
    if (text && str_parse_u64(text, 1, PAGE_LIMIT_MAX, limit) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "limit",
                               "limit must be a number from 1 to %d.", PAGE_LIMIT_MAX);
    if (*after && !is_valid(*after))
        return error_set_field(err, ERR_INVALID_NEXT_TOKEN, "next_token",
                               "This next_token does not belong to this list.");
    return 0;
}
