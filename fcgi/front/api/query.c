/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/query.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"

int query_read_number(const struct http_request *request, const char *name, uint64_t least,
                      uint64_t most, uint64_t *value, struct error **err)
{
    const char *text = http_query(request, name);
    if (!text || str_parse_u64(text, least, most, value) == 0)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, name,
                           "%s must be a number from %" PRIu64 " to %" PRIu64 ".", name, least,
                           most);
}

int query_read_time(const struct http_request *request, const char *name, int64_t *at_ms,
                    struct error **err)
{
    const char *text = http_query(request, name);
    if (!text || clock_parse_iso8601(text, at_ms) == 0)
        return 0;
    /* A plus sign in a query is a blank. */
    return error_set_field(err, ERR_INVALID_REQUEST, name,
                           "%s must be a time, such as 2027-01-31T12:00:00Z%s", name,
                           strchr(text, ' ') ? "; write the + of a time zone as %2B." : ".");
}

const char *query_name(const struct http_request *request, const char *name)
{
    const char *text = http_query(request, name);
    for (const char *at = text; at && *at; at++)
        if (*at & 0x80)
            return "?";
    return text;
}

/* A wrong value in the query: the path exists. */
static int unknown_name(const char *name, struct error **err)
{
    if (!error_clear_if(err, ERR_NOT_FOUND))
        return -1;
    return error_set_field(err, ERR_INVALID_REQUEST, name, "There is no such %s.", name);
}

int query_read_team(struct db *db, const struct http_request *request, bool *named,
                    struct team *team, struct error **err)
{
    const char *slug = query_name(request, "team");
    *named = slug;
    return !slug || team_get_by_slug(db, slug, team, err) == 0 ? 0 : unknown_name("team", err);
}

int query_read_host(struct db *db, const struct http_request *request, bool *named,
                    struct host *host, struct error **err)
{
    const char *name = query_name(request, "host");
    *named = name;
    return !name || host_get_by_name(db, name, host, err) == 0 ? 0 : unknown_name("host", err);
}
