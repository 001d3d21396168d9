/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What runs in the background: one table (jobs.c) says what, in which process, how often, and what
 * follows a failure.
 */
#pragma once

#include <signal.h>

#include "base/notify.h"
#include "dispatcher/due.h"
#include "worker/worker.h"

/* Each process of a dispatcher has a database connection of its own; what may be kept waiting is in
 * another process than what must not wait. */
enum dispatcher_process {
    PROCESS_WORK, /* the dispatcher itself; the others are its children */
    PROCESS_POOL, /* of waiting instances */
    PROCESS_OPERATIONS,
    PROCESS_FORKS,
    PROCESS_MOVES,  /* that somebody waits for */
    PROCESS_DRAINS, /* of hosts that are being emptied */
    PROCESS_ARCHIVE,
    PROCESS_ARCHIVE_ENDS,
    PROCESS_DEADLINES,
    PROCESS_HOSTS,
    PROCESS_AGENTS,
    PROCESS_SAMPLES,
    PROCESS_POLICIES,
    PROCESS_BUILDS,
    PROCESS_STEPS,
    PROCESS_EVENTS,
    PROCESS_WEBHOOKS,
    PROCESS_COUNT
};

struct process {
    unsigned count;           /* how many there are of it */
    enum notify_kind notices; /* who makes work for it says so by these */
    void (*notified)(void);   /* called when somebody did; may be NULL */
    unsigned team_most;       /* of its processes work for one team at once; 0: no bound */
};
extern const struct process dispatcher_processes[PROCESS_COUNT];
#define DISPATCHER_PROCESSES_MAX 26 /* of all of them together */

struct job {
    const char *name;
    enum dispatcher_process process;
    /* One of these three. A piece of work that is due, looked for without end; *worked: there was
     * one. */
    int (*next)(struct worker *worker, bool *worked, struct error **err);
    enum due_kind due; /* whether next() may find any; DUE_UNKNOWN: it finds out */
    /* All that there is, at a cadence; every_ms 0: that of the leases (lease_s). */
    int (*sweep)(struct worker *worker, struct error **err);
    /* A loop of its own, the only job of its process. */
    void (*serve)(struct worker *worker, const volatile sig_atomic_t *stop);
    unsigned every_ms;
    bool at_start; /* a sweep that does not wait for its first turn */
    /* Each failure is followed by a longer rest: for work that begins anew each time, and would
     * use up addresses as fast as it fails. */
    bool backs_off;

    unsigned rest_ms;
    int64_t due_at_ms; /* monotonic: not before */
};

/* The table, in the order in which a process does its jobs; process PROCESS_COUNT ends it. */
extern struct job dispatcher_jobs[];

/* --- jobs that have no header of their own --- */

/* Move one sandbox whose deadline has passed to the state of its end, and leave the rest to
 * sandbox_recover_next(): this takes a transaction, the runtime may take many seconds. *worked:
 * there was one. */
int sandbox_expire_next(struct worker *worker, bool *worked, struct error **err);

/* Finish or undo one operation that has no lease owner any more, or none yet. *worked: there was
 * one. */
int sandbox_recover_next(struct worker *worker, bool *worked, struct error **err);

/* Start one sandbox of a fork. *worked: there was one. */
int sandbox_fork_next(struct worker *worker, bool *worked, struct error **err);

/* Move one sandbox to another host. *worked: there was one. */
int sandbox_move_next(struct worker *worker, bool *worked, struct error **err);

/* Move one sandbox away from a host that is being emptied. *worked: there was one that could. */
int sandbox_drain_next(struct worker *worker, bool *worked, struct error **err);

/* Go on with one move of something else than a stopped sandbox, that somebody waits for, or that
 * nobody does. *worked: there was one. */
int move_asked_next(struct worker *worker, bool *worked, struct error **err);
int move_next(struct worker *worker, bool *worked, struct error **err);

/* Begin to move something else than a stopped sandbox away from a host that is being emptied.
 * *worked: there was something that could. */
int move_drain_next(struct worker *worker, bool *worked, struct error **err);

/* Copy one paused sandbox or checkpoint into the archive. *worked: there was one. */
int archive_next(struct worker *worker, bool *worked, struct error **err);

/* Compare the instances of every host with the rows: what belongs to nobody is removed, and what
 * runs though its sandbox is stopped is stopped. */
int sandbox_sweep(struct worker *worker, struct error **err);

/* Take samples of what running sandboxes use. */
void sample_serve(struct worker *worker, const volatile sig_atomic_t *stop);

/* Number events as they are committed, announce what lies ahead, forget what is old. */
void events_serve(struct worker *worker, const volatile sig_atomic_t *stop);

/* Deliver events to webhooks. Of all dispatchers one does it. */
void webhooks_serve(struct worker *worker, const volatile sig_atomic_t *stop);

/* Watch the hosts for sandboxes that go down by themselves: each in a process of its own, so that
 * one that hangs delays no other. Of all dispatchers one does it. */
void hosts_monitor_serve(struct worker *worker, const volatile sig_atomic_t *stop);

/* Refresh the agents of running sandboxes: at the interval of the samples, and at once when
 * hosts_monitor_serve() of this dispatcher saw a guest reboot. */
void agents_serve(struct worker *worker, const volatile sig_atomic_t *stop);
