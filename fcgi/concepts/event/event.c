/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_make.h"
#include "base/str.h"

#define ID_PREFIX "evt_"
#define ID_DIGITS 16

const char *const event_kind_names[EVENT_KIND_COUNT] = {
#define EVENT(symbol, name) [symbol] = name,
#include "event/event_kinds.def"
#undef EVENT
};

int event_kind_parse(const char *name, enum event_kind *kind)
{
    for (unsigned i = 0; i < EVENT_KIND_COUNT; i++) {
        if (!strcmp(event_kind_names[i], name)) {
            *kind = (enum event_kind)i;
            return 0;
        }
    }
    return -1;
}

int event_kind_read(const char *name, const char *field, enum event_kind *kind, struct error **err)
{
    if (event_kind_parse(name, kind) == 0)
        return 0;
    const char *nearest = str_nearest(name, event_kind_names, EVENT_KIND_COUNT);
    if (nearest)
        return error_set_field(err, ERR_INVALID_REQUEST, field,
                               "There is no such kind of event; did you mean \"%s\"?", nearest);
    return error_set_field(err, ERR_INVALID_REQUEST, field,
                           "There is no such kind of event; an example is %s.",
                           event_kind_names[EVENT_SANDBOX_PAUSED]);
}

void events_free(struct event *list, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        free(list[i].data);
    free(list);
}

static bool has_team(const struct event_filter *filter, const char *team_id)
{
    for (unsigned i = 0; i < filter->team_count; i++)
        if (!strcmp(filter->team_ids[i], team_id))
            return true;
    return false;
}

static bool has_kind(const struct event_filter *filter, enum event_kind kind)
{
    bool any = false;
    for (unsigned i = 0; i < EVENT_KIND_COUNT; i++)
        any |= filter->kinds[i];
    return !any || filter->kinds[kind];
}

bool event_matches(const struct event *event, const struct event_filter *filter)
{
    if (*filter->sandbox_id && strcmp(filter->sandbox_id, event->sandbox_id))
        return false;
    return event->at_ms >= filter->since_ms && has_kind(filter, event->kind) &&
           has_team(filter, event->team_id);
}

const char *event_kinds_text(const struct event_filter *filter, char text[EVENT_KINDS_BYTES])
{
    size_t size = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < EVENT_KIND_COUNT; i++)
        if (filter->kinds[i])
            size += (size_t)snprintf(text + size, EVENT_KINDS_BYTES - size, "%s%s", size ? "," : "",
                                     event_kind_names[i]);
    return text;
}

const char *event_id_format(uint64_t id, char text[EVENT_ID_SIZE])
{
    snprintf(text, EVENT_ID_SIZE, ID_PREFIX "%0*" PRIu64, ID_DIGITS, id);
    return text;
}

int event_id_parse(const char *text, uint64_t *id)
{
    if (!str_starts_with(text, ID_PREFIX))
        return -1;
    const char *digits = text + strlen(ID_PREFIX);
    size_t length = strlen(digits);
    if (length < ID_DIGITS || length > 19 || strspn(digits, "0123456789") != length ||
        (length > ID_DIGITS && *digits == '0'))
        return -1;
    *id = strtoull(digits, NULL, 10);
    return 0;
}

json_t *event_to_json(const struct event *event)
{
    char id[EVENT_ID_SIZE], at[CLOCK_ISO8601_SIZE];
    const char *sandbox_id = *event->sandbox_id ? event->sandbox_id : NULL;
    const char *sandbox_name = *event->sandbox_name ? event->sandbox_name : NULL;
    json_t *data = json_loads(event->data, 0, NULL);
    return json_pack("{s:s, s:s, s:s, s:s, s:s?, s:s?, s:o}", "id", event_id_format(event->id, id),
                     "kind", event_kind_names[event->kind], "at",
                     clock_format_iso8601(event->at_ms, at), "team", event->team_slug,
                     "sandbox_name", sandbox_name, "sandbox_id", sandbox_id, "data",
                     data ? data : json_object());
}

json_t *event_page_to_json(const struct event *list, unsigned count, uint64_t last_id)
{
    char id[EVENT_ID_SIZE];
    json_t *events = JSON_LIST(list, count, event_to_json);
    return json_pack("{s:o, s:s}", "events", events, "last_id", event_id_format(last_id, id));
}
