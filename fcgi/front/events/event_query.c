/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "events/server.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define WAIT_MAX_MS (24 * 3600 * 1000)

static int read_teams(char *list, struct wanted *wanted)
{
    char *rest = NULL;
    struct event_filter *filter = &wanted->filter;
    for (char *id = strtok_r(list, ",", &rest); id; id = strtok_r(NULL, ",", &rest)) {
        if (filter->team_count == WAIT_TEAMS_MAX || strlen(id) >= ID_SIZE)
            return -1;
        memcpy(wanted->team_ids[filter->team_count], id, strlen(id) + 1);
        wanted->teams[filter->team_count] = wanted->team_ids[filter->team_count];
        filter->team_count++;
    }
    filter->team_ids = wanted->teams;
    return filter->team_count ? 0 : -1;
}

static int read_kinds(char *list, struct wanted *wanted)
{
    char *rest = NULL;
    enum event_kind kind;
    for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (event_kind_parse(name, &kind) < 0)
            return -1;
        wanted->filter.kinds[kind] = true;
    }
    return 0;
}

static int copy(const char *value, char *out, size_t size)
{
    if (strlen(value) >= size)
        return -1;
    memcpy(out, value, strlen(value) + 1);
    return 0;
}

static int read_member(char name, char *value, struct wanted *wanted)
{
    uint64_t number = 0;
    if (strchr("swlaf", name) && str_parse_u64(value, 0, INT64_MAX, &number) < 0)
        return -1;
    switch (name) {
    case 't':
        return copy(value, wanted->tenant, sizeof wanted->tenant);
    case 'u':
        return copy(value, wanted->user, sizeof wanted->user);
    case 'c':
        return copy(value, wanted->credential, sizeof wanted->credential);
    case 'r':
        return copy(value, wanted->request_id, sizeof wanted->request_id);
    case 's':
        wanted->stream = number;
        return 0;
    case 'w':
        wanted->wait_ms = number;
        return number <= WAIT_MAX_MS ? 0 : -1;
    case 'l':
        wanted->limit = (unsigned)number;
        return number <= EVENT_PAGE_MAX ? 0 : -1;
    case 'a':
        wanted->after = number;
        return 0;
    case 'f':
        wanted->filter.since_ms = (int64_t)number;
        return 0;
    case 'b':
        return copy(value, wanted->filter.sandbox_id, sizeof wanted->filter.sandbox_id);
    case 'k':
        return read_kinds(value, wanted);
    case 'm':
        return read_teams(value, wanted);
    default:
        return -1;
    }
}

int wanted_read(const char *line, struct wanted *wanted, struct error **err)
{
    const char *query = strchr(line, '?');
    autofree char *text = query ? xstrndup(query + 1, strcspn(query + 1, " \r\n")) : NULL;
    char *rest = NULL;
    *wanted = (struct wanted){.limit = EVENT_PAGE_MAX};
    for (char *pair = text ? strtok_r(text, "&", &rest) : NULL; pair;
         pair = strtok_r(NULL, "&", &rest))
        if (pair[1] != '=' || read_member(pair[0], pair + 2, wanted) < 0)
            return error_set(err, ERR_INVALID_REQUEST, "the request did not come from sandlot-api");
    if (!wanted->filter.team_count || !*wanted->tenant || !*wanted->user || !*wanted->credential ||
        !wanted->limit)
        return error_set(err, ERR_INVALID_REQUEST, "the request has no team");
    return 0;
}
