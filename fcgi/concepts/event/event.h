/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events: what happened to the things of a team.
 *
 * Whoever changes a state calls event_add() in the transaction of the change, with the changed row
 * locked: the event is there exactly if the change is, and the events of one sandbox keep the order
 * of its changes. They have no number yet. event_number() moves what was committed, in order and
 * with one caller at a time, to where readers look, and numbers it there; so a reader that has seen
 * a number will see none below it any more that it has not, and may go on from there.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/ulid.h"
#include "db/db.h"

enum event_kind {
#define EVENT(symbol, name) symbol,
#include "event/event_kinds.def"
#undef EVENT
    EVENT_KIND_COUNT
};
extern const char *const event_kind_names[EVENT_KIND_COUNT];

/* 0, or -1 when name is no kind. */
int event_kind_parse(const char *name, enum event_kind *kind);

/* --- writing --- */

struct event_note {
    enum event_kind kind;
    const char *team_id;
    const char *sandbox_id; /* NULL: it is of none */
    json_t *data;           /* an object, taken over; NULL: empty */
};

/* Whom the events of this process are told to, once they are committed: scope of base/notify.h,
 * borrowed. Without it they wait for the next look. */
void event_notify_scope(const char *scope);

/* In the transaction of the change. */
int event_add(struct db *db, const struct event_note *note, struct error **err);

/* In a transaction of its own: what may come without end, told again only after interval_ms. */
struct event_seldom {
    struct event_note note;
    const char *subject; /* the id of what it is about */
    uint64_t interval_ms;
    /* Called in the transaction when it is told; may be NULL. */
    int (*also)(struct db *db, void *context, struct error **err);
    void *context;
};
int event_add_seldom(struct db *db, const struct event_seldom *seldom, struct error **err);

/* --- numbering and forgetting, for the dispatcher --- */

#define EVENT_BATCH 1000

/* Number what is committed, EVENT_BATCH at most; *count: how many those were. *busy: somebody else
 * is at it, who may have begun too early for the newest. */
int event_number(struct db *db, unsigned *count, bool *busy, struct error **err);

/* Forget a part of what is older than kept_ms, and of what a team has above per_team; *more: there
 * may be more of it. *looked_to: up to which event all teams have been looked at, 0 at first; only
 * those that have newer ones are looked at. */
int event_purge(struct db *db, uint64_t kept_ms, uint64_t per_team, uint64_t *looked_to, bool *more,
                struct error **err);

/* --- reading --- */

#define EVENT_ID_SIZE     (4 + 20 + 1) /* "evt_" and the number, of 16 digits or more */
#define EVENT_TEAM_SIZE   65
#define EVENT_PAGE_MAX    1000
#define EVENT_KINDS_BYTES 1024 /* of a list of kinds as text */

struct event {
    uint64_t id;
    char team_id[ID_SIZE];
    char team_slug[EVENT_TEAM_SIZE];
    enum event_kind kind;
    char sandbox_id[ID_SIZE]; /* "": none */
    char *data;               /* JSON; owned */
    int64_t at_ms;
};
void events_free(struct event *list, unsigned count);

/* Which events somebody wants. */
struct event_filter {
    const char *const *team_ids;
    unsigned team_count;
    bool kinds[EVENT_KIND_COUNT]; /* none: all */
    char sandbox_id[ID_SIZE];     /* "": all */
    int64_t since_ms;             /* 0: all */
};
bool event_matches(const struct event *event, const struct event_filter *filter);

/* The kinds of a filter by name, separated by commas; "" for all. */
const char *event_kinds_text(const struct event_filter *filter, char text[EVENT_KINDS_BYTES]);

/* Up to which number all is there. */
int event_head(struct db *db, uint64_t *head, struct error **err);

/* Those with a number above after and up to head, in order; the caller frees. */
int event_list(struct db *db, const struct event_filter *filter, uint64_t after, uint64_t head,
               unsigned limit, struct event **list, unsigned *count, struct error **err);

#define EVENT_OFFSET_MAX 10000
/* Of the first team of the filter, which has kinds, so many behind the first offset ones, from the
 * newest or the oldest; the caller frees. */
int event_page(struct db *db, const struct event_filter *filter, bool oldest_first, unsigned offset,
               unsigned limit, struct event **list, unsigned *count, struct error **err);

/* The same of all teams. */
int event_list_all(struct db *db, uint64_t after, uint64_t head, unsigned limit,
                   struct event **list, unsigned *count, struct error **err);

/* What has no number yet, and how long the first of it has waited. */
int event_backlog(struct db *db, uint64_t *count, uint64_t *lag_ms, struct error **err);

const char *event_id_format(uint64_t id, char text[EVENT_ID_SIZE]);
/* 0, or -1 when text is no id of an event. */
int event_id_parse(const char *text, uint64_t *id);

/* As the interface shows it; a new reference. */
json_t *event_to_json(const struct event *event);

/* {"events": [...], "last_id": "evt_..."}: from where to go on. A new reference. */
json_t *event_page_to_json(const struct event *list, unsigned count, uint64_t last_id);
