/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The background jobs. One table (jobs.c) has each job, its process, its interval, and the action
 * after a failure.
 */
#pragma once

#include <signal.h>

#include "base/notify.h"
#include "dispatcher/due.h"
#include "worker/worker.h"

/* Each process of a dispatcher has its own database connection. Jobs that may have to wait are in
 * other processes than jobs that must not. */
enum dispatcher_process {
    PROCESS_WORK, /* the dispatcher itself; the others are its children */
    PROCESS_POOL, /* the warm pool */
    PROCESS_OPERATIONS,
    PROCESS_FORKS,
    PROCESS_HOOKS,  /* operations of sandboxes with hooks */
    PROCESS_MOVES,  /* that a request waits for */
    PROCESS_DRAINS, /* of hosts that are drained */
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
    unsigned count;           /* number of processes of this kind */
    enum notify_kind notices; /* the notices of new work */
    void (*notified)(void);   /* called after a notice; may be NULL */
    unsigned team_most;       /* processes that may work for one team at once; 0: all */
    unsigned again_ms; /* after work, look again this soon for a while; 0: wait for notices */
};
extern const struct process dispatcher_processes[PROCESS_COUNT];
#define DISPATCHER_PROCESSES_MAX 32 /* of all kinds together */

struct job {
    const char *name;
    enum dispatcher_process process;
    /* One of the next four. Do one piece of due work. It is called until *worked is false. */
    int (*next)(struct worker *worker, bool *worked, struct error **err);
    enum due_kind due; /* whether next() may find work; DUE_UNKNOWN: ask next() */
    /* Do all work at an interval; every_ms 0: lease_s. */
    int (*sweep)(struct worker *worker, struct error **err);
    /* Do the same with the database alone. */
    int (*tidy)(struct db *db, struct error **err);
    /* Run a loop as the only job of the process. */
    void (*serve)(struct worker *worker, const volatile sig_atomic_t *stop);
    unsigned every_ms;
    bool at_start; /* run a sweep at the start, too */
    /* Rest longer after each failure. For jobs that restart from the beginning and would use up
     * addresses. */
    bool backs_off;

    unsigned rest_ms;
    int64_t due_at_ms; /* monotonic: do not run before */
};

/* The table, in the order of each process's jobs; process PROCESS_COUNT ends it. */
extern struct job dispatcher_jobs[];

/* --- jobs that have no header of their own --- */

/* Set one sandbox whose deadline has passed to the state of its end. This takes one transaction;
 * sandbox_recover_next() does the rest, because the runtime may need many seconds. *worked: there
 * was one. */
int sandbox_expire_next(struct worker *worker, bool *worked, struct error **err);

/* Finish or undo one operation without a lease owner: its owner has died, or it is new. *worked:
 * there was one. */
int sandbox_recover_next(struct worker *worker, bool *worked, struct error **err);

/* Start one sandbox of a fork. *worked: there was one. */
int sandbox_fork_next(struct worker *worker, bool *worked, struct error **err);

/* Finish one operation of a sandbox with hooks. *worked: there was one. */
int sandbox_hooked_next(struct worker *worker, bool *worked, struct error **err);

/* Move one sandbox to another host. *worked: there was one. */
int sandbox_move_next(struct worker *worker, bool *worked, struct error **err);

/* Move one sandbox away from a host that is drained. *worked: one could be moved. */
int sandbox_drain_next(struct worker *worker, bool *worked, struct error **err);

/* Continue one move of anything but a paused sandbox: move_asked_next() if a request waits for the
 * move, move_next() if not. *worked: there was one. */
int move_asked_next(struct worker *worker, bool *worked, struct error **err);
int move_next(struct worker *worker, bool *worked, struct error **err);

/* Start to move an object other than a paused sandbox away from a host that is drained. *worked:
 * one could be moved. */
int move_drain_next(struct worker *worker, bool *worked, struct error **err);

/* Copy one paused sandbox or checkpoint into the archive. *worked: there was one. */
int archive_next(struct worker *worker, bool *worked, struct error **err);

/* Compare the instances of every host with the rows. Delete instances that belong to no row, and
 * stop running instances of paused sandboxes. */
int sandbox_sweep(struct worker *worker, struct error **err);

/* Measure the resources that running sandboxes use, at the interval of the samples. */
void sample_serve(struct worker *worker, const volatile sig_atomic_t *stop);

/* Number committed events, create events for near deadlines and quotas, and delete old events. */
void events_serve(struct worker *worker, const volatile sig_atomic_t *stop);

/* Deliver events to webhooks. One of all dispatchers does it. */
void webhooks_serve(struct worker *worker, const volatile sig_atomic_t *stop);

/* Monitor the hosts for sandboxes that stop by themselves. Each host has its own process, so a host
 * that hangs does not delay others. One of all dispatchers does it. */
void hosts_monitor_serve(struct worker *worker, const volatile sig_atomic_t *stop);

/* Refresh the agents of running sandboxes: at the interval of the samples, and at once when
 * hosts_monitor_serve() of this dispatcher saw a guest reboot. */
void agents_serve(struct worker *worker, const volatile sig_atomic_t *stop);
