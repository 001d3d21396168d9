/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events: the changes of a team's things.
 *
 * Code that changes a state calls event_add() in the transaction of the change, with the changed
 * row locked. So the event exists exactly if the change does, and the events of one sandbox keep
 * the order of its changes.
 *
 * A new event has no number yet. Its transaction writes it to a table of its own. From there
 * event_number() moves committed events to the table that readers use, and numbers them. Only one
 * process at a time does this. A reader that has seen a number therefore never misses a lower one,
 * and can continue from there.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/ulid.h"
#include "db/db.h"
#include "naming/naming.h"

enum event_kind {
#define EVENT(symbol, name) symbol,
#include "event/event_kinds.def"
#undef EVENT
    EVENT_KIND_COUNT
};
extern const char *const event_kind_names[EVENT_KIND_COUNT];

/* Find the kind of a name. Returns 0, or -1 for an unknown name. */
int event_kind_parse(const char *name, enum event_kind *kind);

/* Find the kind of a name in a request. Errors: ERR_INVALID_REQUEST with the field, and a name that
 * the client may have meant. */
int event_kind_read(const char *name, const char *field, enum event_kind *kind, struct error **err);

/* --- writing --- */

struct event_note {
    enum event_kind kind;
    const char *team_id;
    const char *sandbox_id; /* NULL: not about a sandbox */
    json_t *data;           /* an object, whose reference this takes over; NULL: empty */
};

/* Choose the receiver of notifications about committed events of this process: a scope of
 * base/notify.h, borrowed. Without a scope, events wait for the dispatcher's next turn. */
void event_notify_scope(const char *scope);

/* Add an event, in the transaction of the change. */
int event_add(struct db *db, const struct event_note *note, struct error **err);

/* An event that may occur very often, with the least time between two events. */
struct event_seldom {
    struct event_note note;
    const char *subject; /* the id of the object that it is about */
    uint64_t interval_ms;
    /* Called in the transaction that adds the event; may be NULL. */
    int (*also)(struct db *db, void *context, struct error **err);
    void *context;
};
/* Add the event in a transaction of its own, unless an event of this kind was added about the
 * subject within interval_ms. Takes over the reference of note.data in any case. */
int event_add_seldom(struct db *db, const struct event_seldom *seldom, struct error **err);

/* --- numbering and deleting, for the dispatcher --- */

#define EVENT_BATCH 1000

/* Number committed events, at most EVENT_BATCH. *count: the number of these events. *busy: another
 * process is numbering, and its turn may have started too early for the newest events. */
int event_number(struct db *db, unsigned *count, bool *busy, struct error **err);

/* Delete a batch of events that are older than kept_ms or above per_team. *more: there may be
 * further ones. *looked_to: 0 at first; then the newest event at the last complete check of the
 * teams. Later calls check only teams with newer events. */
int event_purge(struct db *db, uint64_t kept_ms, uint64_t per_team, uint64_t *looked_to, bool *more,
                struct error **err);

/* --- reading --- */

#define EVENT_ID_SIZE     (4 + 20 + 1) /* "evt_" and the number, of 16 digits or more */
#define EVENT_TEAM_SIZE   65
#define EVENT_PAGE_MAX    1000
#define EVENT_KINDS_BYTES 1024 /* for a list of kinds as text */

struct event {
    uint64_t id;
    char team_id[ID_SIZE];
    char team_slug[EVENT_TEAM_SIZE];
    enum event_kind kind;
    char sandbox_id[ID_SIZE];           /* "": not about a sandbox */
    char sandbox_name[THING_NAME_SIZE]; /* the present one, or "" */
    char *data;                         /* JSON; owned */
    int64_t at_ms;
};
void events_free(struct event *list, unsigned count);

/* The events that a reader wants. */
struct event_filter {
    const char *const *team_ids;
    unsigned team_count;
    bool kinds[EVENT_KIND_COUNT]; /* all false: every kind */
    char sandbox_id[ID_SIZE];     /* "": all */
    int64_t since_ms;             /* 0: all */
    int64_t until_ms;             /* monotonic: no further team is read after it; 0: all are */
};
bool event_matches(const struct event *event, const struct event_filter *filter);

/* Write the names of a filter's kinds, separated by commas; "" for all kinds. */
const char *event_kinds_text(const struct event_filter *filter, char text[EVENT_KINDS_BYTES]);

/* Read the newest number. All events up to this number can be read. */
int event_head(struct db *db, uint64_t *head, struct error **err);

/* List the events with a number above after and up to head, in order. The caller ends with
 * events_free(). Errors: ERR_INVALID_REQUEST if not all teams were read before filter->until_ms. */
int event_list(struct db *db, const struct event_filter *filter, uint64_t after, uint64_t head,
               unsigned limit, struct event **list, unsigned *count, struct error **err);

#define EVENT_SCAN_MAX 2000
/* Find the number up to which one look of a reader may go, so that event_list() reads about
 * EVENT_SCAN_MAX rows of all teams together, also when few rows match the filter. *end: at most
 * head. */
int event_scan_end(struct db *db, const struct event_filter *filter, uint64_t after, uint64_t head,
                   uint64_t *end, struct error **err);

#define EVENT_OFFSET_MAX 10000
/* List a page of events of the first team of the filter, which must name kinds. The page skips
 * offset events from the newest or the oldest, and has at most limit. The caller ends with
 * events_free(). */
int event_page(struct db *db, const struct event_filter *filter, bool oldest_first, unsigned offset,
               unsigned limit, struct event **list, unsigned *count, struct error **err);

/* List the events of all teams as event_list() does. */
int event_list_all(struct db *db, uint64_t after, uint64_t head, unsigned limit,
                   struct event **list, unsigned *count, struct error **err);

/* Count the events without a number, and return the age of the oldest. */
int event_backlog(struct db *db, uint64_t *count, uint64_t *lag_ms, struct error **err);

const char *event_id_format(uint64_t id, char text[EVENT_ID_SIZE]);
/* Read a number from an event's id. Returns 0, or -1 for text of another form. */
int event_id_parse(const char *text, uint64_t *id);

/* Return the event as the API shows it; a new reference. */
json_t *event_to_json(const struct event *event);

/* Return {"events": [...], "last_id": "evt_..."}; readers continue from last_id. A new
 * reference. */
json_t *event_page_to_json(const struct event *list, unsigned count, uint64_t last_id);
