/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/notify.h"
#include "event/event.h"
#include "naming/name_columns.h"

#define PURGE_BATCH 2000
#define TEAMS_MAX   100000

DB_STATEMENT(add_statement) = {
    "event.add",
    "INSERT INTO event_outbox (team_id, kind, sandbox_id, data, at_ms) VALUES (?, ?, ?, ?, ?)"};

DB_STATEMENT(resting_statement) = {
    "event.resting",
    "SELECT 1 FROM event_throttles WHERE subject = ? AND kind = ? AND until_ms > ?"};
DB_STATEMENT(again_statement) = {
    "event.again",
    "UPDATE event_throttles SET until_ms = ? WHERE subject = ? AND kind = ? AND until_ms <= ?"};
DB_STATEMENT(first_statement) = {
    "event.first", "INSERT IGNORE INTO event_throttles (subject, kind, until_ms) VALUES (?, ?, ?)"};

/* Rows get their numbers in the order in which they are inserted, and only from the process that
 * holds this lock until its commit. Readers can therefore continue from a number.
 *
 * The DELETE finds its rows through the inserted ones, never by a scan of the outbox. The server
 * prefers a scan for a short table, and would then wait for uncommitted rows of others. */
DB_STATEMENT(lock_statement) = {
    "event.lock", "SELECT last_id FROM event_sequencer WHERE one = 1 FOR UPDATE SKIP LOCKED"};
DB_STATEMENT(waiting_statement) = {"event.waiting", "SELECT 1 FROM event_outbox LIMIT 1"};
DB_STATEMENT(move_statement) = {
    "event.move",
    "INSERT INTO events (seq, team_id, kind, sandbox_id, data, at_ms)"
    " SELECT seq, team_id, kind, sandbox_id, data, at_ms FROM event_outbox ORDER BY seq LIMIT ?"};
DB_STATEMENT(moved_statement) = {
    "event.moved",
    "DELETE o FROM events e STRAIGHT_JOIN event_outbox o FORCE INDEX (PRIMARY) ON o.seq = e.seq"
    " WHERE e.id > ?"};
DB_STATEMENT(advance_statement) = {
    "event.advance",
    "UPDATE event_sequencer SET last_id = (SELECT MAX(id) FROM events) WHERE one = 1"};

DB_STATEMENT(head_statement) = {"event.head", "SELECT last_id FROM event_sequencer WHERE one = 1"};
DB_STATEMENT(backlog_statement) = {
    "event.backlog", "SELECT COUNT(*), CAST(COALESCE(GREATEST(? - MIN(at_ms), 0), 0) AS UNSIGNED)"
                     " FROM event_outbox"};

#define SELECT_EVENT                                                               \
    "SELECT e.id, e.team_id, t.slug, e.kind, COALESCE(e.sandbox_id, ''), e.data, " \
    "e.at_ms, " NAME_OF_SANDBOX("e.sandbox_id") " FROM events e"
#define OF_FILTER \
    " AND e.id > ? AND e.id <= ? AND e.at_ms >= ? AND (? = '' OR FIND_IN_SET(e.kind, ?))"
DB_STATEMENT(list_statement) = {"event.list", SELECT_EVENT " JOIN teams t ON t.id = e.team_id"
                                                           " WHERE e.team_id = ?" OF_FILTER
                                                           " ORDER BY e.id LIMIT ?"};
DB_STATEMENT(list_of_sandbox_statement) = {"event.list_of_sandbox", SELECT_EVENT
                                           " JOIN teams t ON t.id = e.team_id"
                                           " WHERE e.team_id = ?" OF_FILTER
                                           " AND e.sandbox_id = ? ORDER BY e.id LIMIT ?"};
DB_STATEMENT(scan_end_statement) = {
    "event.scan_end",
    "SELECT id FROM events FORCE INDEX (events_of_team) WHERE team_id = ? AND id > ? AND id <= ?"
    " ORDER BY id LIMIT 1 OFFSET ?"};
/* These pages skip rows by an offset, so the offset is bounded. */
#define PAGE_OF " AND FIND_IN_SET(e.kind, ?) AND (? = '' OR e.sandbox_id = ?) ORDER BY e.id"
DB_STATEMENT(page_newest_statement) = {
    "event.page_newest", SELECT_EVENT
    " JOIN teams t ON t.id = e.team_id WHERE e.team_id = ?" PAGE_OF " DESC LIMIT ? OFFSET ?"};
DB_STATEMENT(page_oldest_statement) = {
    "event.page_oldest", SELECT_EVENT
    " JOIN teams t ON t.id = e.team_id WHERE e.team_id = ?" PAGE_OF " LIMIT ? OFFSET ?"};
DB_STATEMENT(list_all_statement) = {"event.list_all", SELECT_EVENT
                                    " STRAIGHT_JOIN teams t ON t.id = e.team_id"
                                    " WHERE e.id > ? AND e.id <= ? ORDER BY e.id LIMIT ?"};

DB_STATEMENT(purge_old_statement) = {"event.purge_old",
                                     "DELETE FROM events WHERE at_ms < ? ORDER BY at_ms LIMIT ?"};
/* The first turn finds teams through the index by team, later turns through the newest numbers. */
DB_STATEMENT(teams_statement) = {"event.teams", "SELECT DISTINCT team_id FROM events LIMIT ?"};
DB_STATEMENT(teams_since_statement) = {
    "event.teams_since",
    "SELECT DISTINCT team_id FROM events FORCE INDEX (PRIMARY) WHERE id > ? LIMIT ?"};
DB_STATEMENT(bound_statement) = {
    "event.bound", "SELECT id FROM events WHERE team_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?"};
DB_STATEMENT(purge_team_statement) = {
    "event.purge_team", "DELETE FROM events WHERE team_id = ? AND id <= ? ORDER BY id LIMIT ?"};
DB_STATEMENT(purge_throttles_statement) = {
    "event.purge_throttles", "DELETE FROM event_throttles WHERE until_ms < ? LIMIT ?"};

/* --- writing --- */

static const char *notify_scope;

void event_notify_scope(const char *scope)
{
    notify_scope = scope;
}

static void tell(void)
{
    if (notify_scope)
        notify_send(notify_scope, NOTIFY_EVENTS);
}

static int add(struct db *db, const struct event_note *note, const char *data, struct error **err)
{
    db_after_commit(db, tell);
    return db_exec(db, &add_statement,
                   DB_ARGS(db_text(note->team_id), db_text(event_kind_names[note->kind]),
                           db_text(note->sandbox_id), db_text(data), db_i64(clock_now_ms())),
                   NULL, err);
}

int event_add(struct db *db, const struct event_note *note, struct error **err)
{
    autofree char *data = note->data ? json_dumps(note->data, JSON_COMPACT) : NULL;
    json_decref(note->data);
    return add(db, note, data ? data : "{}", err);
}

struct telling {
    const struct event_seldom *seldom;
    const char *data;
};

static int seldom_body(struct db *db, void *context, struct error **err)
{
    const struct telling *telling = context;
    const struct event_seldom *seldom = telling->seldom;
    const char *kind = event_kind_names[seldom->note.kind];
    struct db_value until = db_i64(clock_in_ms(seldom->interval_ms));
    uint64_t taken = 0;
    if (db_exec(db, &again_statement,
                DB_ARGS(until, db_text(seldom->subject), db_text(kind), db_i64(clock_now_ms())),
                &taken, err) < 0)
        return -1;
    if (!taken && db_exec(db, &first_statement,
                          DB_ARGS(db_text(seldom->subject), db_text(kind), until), &taken, err) < 0)
        return -1;
    if (!taken)
        return 0;
    if (seldom->also && seldom->also(db, seldom->context, err) < 0)
        return -1;
    return add(db, &seldom->note, telling->data, err);
}

int event_add_seldom(struct db *db, const struct event_seldom *seldom, struct error **err)
{
    const struct event_note *note = &seldom->note;
    autofree char *data = note->data ? json_dumps(note->data, JSON_COMPACT) : xstrdup("{}");
    struct telling telling = {seldom, data};
    bool resting;
    json_decref(note->data);
    if (db_query_finds(db, &resting_statement,
                       DB_ARGS(db_text(seldom->subject), db_text(event_kind_names[note->kind]),
                               db_i64(clock_now_ms())),
                       &resting, err) < 0)
        return -1;
    return resting ? 0 : db_transaction(db, seldom_body, &telling, err);
}

/* --- numbering and deleting --- */

struct numbering {
    uint64_t moved;
    bool busy;
};

static int number_body(struct db *db, void *context, struct error **err)
{
    struct numbering *numbering = context;
    uint64_t last_id;
    db_rows_auto *rows = NULL;
    *numbering = (struct numbering){0};
    if (db_query(db, &lock_statement, DB_NO_ARGS, &rows, err) < 0)
        return -1;
    numbering->busy = !db_rows_next(rows);
    if (numbering->busy)
        return 0;
    last_id = db_get_u64(rows, 0);
    if (db_exec(db, &move_statement, DB_ARGS(db_u64(EVENT_BATCH)), &numbering->moved, err) < 0)
        return -1;
    if (!numbering->moved)
        return 0;
    if (db_exec(db, &moved_statement, DB_ARGS(db_u64(last_id)), NULL, err) < 0)
        return -1;
    return db_exec(db, &advance_statement, DB_NO_ARGS, NULL, err);
}

int event_number(struct db *db, unsigned *count, bool *busy, struct error **err)
{
    struct numbering numbering = {0};
    bool waiting;
    if (db_query_finds(db, &waiting_statement, DB_NO_ARGS, &waiting, err) < 0 ||
        (waiting && db_transaction(db, number_body, &numbering, err) < 0))
        return -1;
    *count = (unsigned)numbering.moved;
    *busy = numbering.busy;
    return 0;
}

static int purge_team(struct db *db, const char *team_id, uint64_t per_team, bool *more,
                      struct error **err)
{
    db_rows_auto *rows = NULL;
    uint64_t gone;
    if (db_query(db, &bound_statement, DB_ARGS(db_text(team_id), db_u64(per_team)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    if (db_exec(db, &purge_team_statement,
                DB_ARGS(db_text(team_id), db_u64(db_get_u64(rows, 0)), db_u64(PURGE_BATCH)), &gone,
                err) < 0)
        return -1;
    *more |= gone == PURGE_BATCH;
    return 0;
}

static int purge_teams(struct db *db, uint64_t since, uint64_t per_team, bool *more,
                       struct error **err)
{
    db_rows_auto *rows = NULL;
    struct db_value most = db_u64(TEAMS_MAX);
    int result =
        since ? db_query(db, &teams_since_statement, DB_ARGS(db_u64(since), most), &rows, err)
              : db_query(db, &teams_statement, DB_ARGS(most), &rows, err);
    while (result == 0 && db_rows_next(rows))
        result = purge_team(db, db_get_text(rows, 0), per_team, more, err);
    return result;
}

int event_purge(struct db *db, uint64_t kept_ms, uint64_t per_team, uint64_t *looked_to, bool *more,
                struct error **err)
{
    uint64_t gone, head;
    int64_t now_ms = clock_now_ms();
    if (db_exec(db, &purge_old_statement,
                DB_ARGS(db_i64(now_ms - (int64_t)kept_ms), db_u64(PURGE_BATCH)), &gone, err) < 0 ||
        db_exec(db, &purge_throttles_statement, DB_ARGS(db_i64(now_ms), db_u64(PURGE_BATCH)), NULL,
                err) < 0 ||
        event_head(db, &head, err) < 0)
        return -1;
    *more = gone == PURGE_BATCH;
    if (purge_teams(db, *looked_to, per_team, more, err) < 0)
        return -1;
    if (!*more)
        *looked_to = head;
    return 0;
}

/* --- reading --- */

static void read_event(const struct db_rows *rows, struct event *event)
{
    *event = (struct event){.id = db_get_u64(rows, 0), .at_ms = db_get_i64(rows, 6)};
    db_copy_text(event->team_id, rows, 1);
    db_copy_text(event->team_slug, rows, 2);
    event->kind = (enum event_kind)db_get_name(rows, 3, event_kind_names, EVENT_KIND_COUNT);
    db_copy_text(event->sandbox_id, rows, 4);
    event->data = xstrdup(db_get_text(rows, 5));
    db_copy_text(event->sandbox_name, rows, 7);
}

int event_head(struct db *db, uint64_t *head, struct error **err)
{
    return DB_NUMBER(db, &head_statement, DB_NO_ARGS, head, err);
}

int event_backlog(struct db *db, uint64_t *count, uint64_t *lag_ms, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &backlog_statement, DB_ARGS(db_i64(clock_now_ms())), &rows, err) < 0)
        return -1;
    db_rows_next(rows);
    *count = db_get_u64(rows, 0);
    *lag_ms = db_get_u64(rows, 1);
    return 0;
}

static int list_of_team(struct db *db, const char *team_id, const struct event_filter *filter,
                        uint64_t after, uint64_t head, unsigned limit, struct event **list,
                        unsigned *count, struct error **err)
{
    char text[EVENT_KINDS_BYTES];
    db_rows_auto *rows = NULL;
    struct db_value team = db_text(team_id), from = db_u64(after), to = db_u64(head),
                    since = db_i64(filter->since_ms), most = db_u64(limit),
                    kinds = db_text(event_kinds_text(filter, text));
    int result = *filter->sandbox_id
                     ? db_query(db, &list_of_sandbox_statement,
                                DB_ARGS(team, from, to, since, kinds, kinds,
                                        db_text(filter->sandbox_id), most),
                                &rows, err)
                     : db_query(db, &list_statement,
                                DB_ARGS(team, from, to, since, kinds, kinds, most), &rows, err);
    if (result < 0)
        return -1;
    while (db_rows_next(rows)) {
        *list = xreallocarray(*list, *count + 1, sizeof **list);
        read_event(rows, &(*list)[(*count)++]);
    }
    return 0;
}

int event_page(struct db *db, const struct event_filter *filter, bool oldest_first, unsigned offset,
               unsigned limit, struct event **list, unsigned *count, struct error **err)
{
    char kinds[EVENT_KINDS_BYTES];
    struct db_value sandbox = db_text(filter->sandbox_id);
    return DB_LIST(db, oldest_first ? &page_oldest_statement : &page_newest_statement,
                   DB_ARGS(db_text(filter->team_ids[0]), db_text(event_kinds_text(filter, kinds)),
                           sandbox, sandbox, db_u64(limit), db_u64(offset)),
                   read_event, list, count, err);
}

static int oldest_first(const void *a, const void *b)
{
    const struct event *left = a, *right = b;
    return left->id < right->id ? -1 : left->id > right->id;
}

/* A reader may be in thousands of teams with many events each. */
static int check_time(const struct event_filter *filter, unsigned teams_read, struct error **err)
{
    if (!teams_read || !filter->until_ms || clock_monotonic_ms() < filter->until_ms)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "team",
                           "The events of your %u teams take too long to read at once; name one of "
                           "the teams.",
                           filter->team_count);
}

/* Read each team's events from its own part of the index, and merge them here. */
int event_list(struct db *db, const struct event_filter *filter, uint64_t after, uint64_t head,
               unsigned limit, struct event **list, unsigned *count, struct error **err)
{
    *list = NULL;
    *count = 0;
    for (unsigned i = 0; i < filter->team_count; i++) {
        if (check_time(filter, i, err) < 0 || list_of_team(db, filter->team_ids[i], filter, after,
                                                           head, limit, list, count, err) < 0) {
            events_free(*list, *count);
            *list = NULL;
            *count = 0;
            return -1;
        }
        if (i && *count)
            qsort(*list, *count, sizeof **list, oldest_first);
        while (*count > limit)
            free((*list)[--*count].data);
    }
    return 0;
}

/* Without conditions of its own, a reader reads no more rows than it gets. */
static bool reads_all(const struct event_filter *filter)
{
    char kinds[EVENT_KINDS_BYTES];
    return !*event_kinds_text(filter, kinds) && !*filter->sandbox_id && !filter->since_ms;
}

int event_scan_end(struct db *db, const struct event_filter *filter, uint64_t after, uint64_t head,
                   uint64_t *end, struct error **err)
{
    *end = head;
    if (reads_all(filter))
        return 0;
    struct db_value skipped = db_u64(EVENT_SCAN_MAX / filter->team_count);
    for (unsigned i = 0; i < filter->team_count; i++) {
        db_rows_auto *rows = NULL;
        if (db_query(db, &scan_end_statement,
                     DB_ARGS(db_text(filter->team_ids[i]), db_u64(after), db_u64(*end), skipped),
                     &rows, err) < 0)
            return -1;
        if (db_rows_next(rows))
            *end = db_get_u64(rows, 0);
    }
    return 0;
}

int event_list_all(struct db *db, uint64_t after, uint64_t head, unsigned limit,
                   struct event **list, unsigned *count, struct error **err)
{
    return DB_LIST(db, &list_all_statement, DB_ARGS(db_u64(after), db_u64(head), db_u64(limit)),
                   read_event, list, count, err);
}
