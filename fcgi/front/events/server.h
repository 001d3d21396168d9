/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests that wait for events: one process holds them all. A worker of the API has checked who
 * asks and for what, and has nginx ask here in its place (X-Accel-Redirect), so no worker waits.
 * The socket on file descriptor 0 is nginx's alone: what comes through it is believed.
 *
 * New events are read once for everybody. Who is behind, because it asked for older ones or does
 * not read, is read for by itself, a page a turn, and has at most OUT_HIGH bytes waiting here.
 */
#pragma once

#include <signal.h>
#include <sys/queue.h>

#include "base/buffer.h"
#include "base/loop.h"
#include "event/event.h"
#include "worker/worker.h"

#define HEAD_MAX       16384
#define OUT_HIGH       (128 * 1024) /* nothing is added above */
#define OUT_MAX        (8 * 1024 * 1024)
#define WAIT_TEAMS_MAX 64

/* What a worker asks for a client. Text without need of escapes. */
struct wanted {
    char tenant[ID_SIZE];     /* the team whose share it takes */
    char credential[ID_SIZE]; /* the key or the sign-in of the request */
    char request_id[65];
    bool stream; /* server-sent events; else one page, as soon as there is any */
    uint64_t wait_ms;
    uint64_t after;
    unsigned limit;
    struct event_filter filter;
    char team_ids[WAIT_TEAMS_MAX][ID_SIZE];
    const char *teams[WAIT_TEAMS_MAX]; /* into team_ids; the filter's */
};

/* Read the first line of a request into wanted, which must stay where it is. Errors:
 * ERR_INVALID_REQUEST. */
int wanted_read(const char *line, struct wanted *wanted, struct error **err);

struct server;

struct follower {
    TAILQ_ENTRY(follower) entry;
    struct server *server;
    struct loop_source source;
    struct loop_timer timer; /* its next sign of life, or its end */
    struct buffer in, out;
    struct wanted wanted;
    uint64_t cursor;  /* everything up to there is sent, or does not concern it */
    uint64_t checked; /* the access revision at which it might still read this */
    int64_t end_at_ms;
    bool following, ending;
};
TAILQ_HEAD(followers, follower);

/* An event that goes to many: its JSON is made once. */
struct told {
    const struct event *event;
    char *text; /* NULL: not made yet; owned */
};

struct server {
    struct worker worker;
    struct loop loop;
    struct loop_source listener, signals;
    struct loop_timer look, rest;
    struct followers followers;
    unsigned count;
    uint64_t known; /* up to which number events were read for everybody */
    uint64_t access_revision;
    int64_t access_at_ms; /* when that was read */
    bool stopping, troubled;
};

/* --- follower.c --- */

void follower_new(struct server *server, int fd);

/* Give it those of the list that it wants, and put its cursor where they end; end: the end of what
 * the list stands for. */
void follower_take(struct follower *follower, struct told *list, unsigned count, uint64_t end);

bool follower_is_full(const struct follower *follower);

/* Answer what can be answered, and end. */
void follower_end(struct follower *follower);

/* --- server.c --- */

/* Whether there is room for one more of the tenant. */
bool server_admits(const struct server *server, const char *tenant);

/* It waits from now on. */
void server_follow(struct server *server);

int server_open(struct server *server, const struct settings *settings, struct error **err);
void server_run(struct server *server);
void server_close(struct server *server);
