/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests that wait for events: one process holds them all. A worker of the API checks the
 * credential and the query. Then it lets nginx send the request here instead (X-Accel-Redirect), so
 * no worker waits. Only nginx can connect to the socket on file descriptor 0: this program trusts
 * the requests that arrive there.
 *
 * The server reads new events once for all followers. A follower that asked for older events or
 * reads slowly is behind. The server reads a page for such a follower in each turn, and keeps at
 * most OUT_HIGH bytes for it.
 */
#pragma once

#include <signal.h>
#include <sys/queue.h>

#include "base/buffer.h"
#include "base/loop.h"
#include "event/event.h"
#include "worker/worker.h"

#define HEAD_MAX       16384
#define OUT_HIGH       (128 * 1024) /* no event is added above */
#define OUT_MAX        (8 * 1024 * 1024)
#define WAIT_TEAMS_MAX 64

/* A request, as a worker of the API passes it on. Its text needs no escapes. */
struct wanted {
    char tenant[ID_SIZE];     /* the team whose share of waiting requests it counts in */
    char user[ID_SIZE];       /* whose share it counts in too */
    char credential[ID_SIZE]; /* the key or the sign-in of the request */
    char request_id[65];
    bool stream; /* server-sent events; else one page, as soon as there is an event */
    uint64_t wait_ms;
    uint64_t after;
    unsigned limit;
    struct event_filter filter;
    char team_ids[WAIT_TEAMS_MAX][ID_SIZE];
    const char *teams[WAIT_TEAMS_MAX]; /* point into team_ids, for the filter */
};

/* Read the first line of a request. *wanted must not move afterwards, because its pointers point
 * into it. Errors: ERR_INVALID_REQUEST. */
int wanted_read(const char *line, struct wanted *wanted, struct error **err);

struct server;

struct follower {
    TAILQ_ENTRY(follower) entry;
    struct server *server;
    struct loop_source source;
    struct loop_timer timer; /* the next heartbeat, or the end */
    struct buffer in, out;
    struct wanted wanted;
    uint64_t cursor;          /* earlier events are sent, or the filter excludes them */
    bool checked;             /* it may read, with the access rights that were read last */
    int64_t allowed_until_ms; /* when its key or sign-in ends by itself; 0: never */
    int64_t end_at_ms;
    bool following, ending;
};
TAILQ_HEAD(followers, follower);

/* An event for many followers: its JSON is made once. */
struct told {
    const struct event *event;
    char *text; /* NULL: not made yet; owned */
};

struct server {
    struct worker worker;
    struct loop loop;
    struct loop_listener listener;
    struct loop_source signals;
    struct loop_timer look;
    struct followers followers;
    unsigned count;
    uint64_t known; /* the last event that was read for all followers */
    uint64_t access_revision;
    int64_t access_at_ms; /* when access_revision was read */
    bool stopping, troubled;
};

/* --- follower.c --- */

/* Accept a connection and read its request. Takes fd over. */
void follower_new(struct server *server, int fd);

/* Send the events of a list that match the follower's filter, and move its cursor. end: the last
 * event number that the list covers. */
void follower_take(struct follower *follower, struct told *list, unsigned count, uint64_t end);

/* Return whether the buffer has OUT_HIGH bytes, so that no event may be added. */
bool follower_is_full(const struct follower *follower);

/* Answer with the events collected so far, and close the connection. */
void follower_end(struct follower *follower);

/* --- server.c --- */

/* Return whether the tenant may have one more waiting request. */
bool server_admits(const struct server *server, const struct wanted *wanted);

/* Start to query for events, for a follower that waits from now on. */
void server_follow(struct server *server);

/* Open the database and the event loop on file descriptor 0. Errors: ERR_CONFIG, ERR_INTERNAL, and
 * those of worker_open(). */
int server_open(struct server *server, const struct settings *settings, struct error **err);
/* Serve until a signal to stop, then end all requests within STOP_WAIT_MS. */
void server_run(struct server *server);
void server_close(struct server *server);
