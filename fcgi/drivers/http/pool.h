/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bound the share of a worker pool that one team or user can hold.
 *
 * The workers of a pool accept on one socket, and share a file of the socket's name. Each has a
 * slot with the tenant of its request, and holds a lock on the slot as long as it lives. So the
 * slot of a killed worker has no lock, and does not count. Nothing is counted up and down, so
 * nothing can be counted wrong.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct pool;

/* The tenant and kind of a worker's request. */
struct pool_claim {
    uint64_t team; /* pool_tenant() of its id; 0: not known, or of no team */
    uint64_t user; /* likewise: of the user whose key or sign-in it is, or who made the sandbox */
    uint64_t sandbox; /* likewise; 0: none */
    bool alone;       /* no other worker of the pool may serve the sandbox */
    bool is_narrow;   /* the user has a quarter and not half */
    bool borrows;     /* the request is short, and may use idle workers beyond the half */
    bool starts;      /* it takes much processor time: see pool_is_beside_others() */
    /* It waits for a command of a tenant. All such claims together get half of the workers. While a
     * quarter of the workers waits, no team or user gets a second one. */
    bool waits;
};

/* Return a number that stands for an id. */
uint64_t pool_tenant(const char *id);

/* Take a slot in the pool that accepts on file descriptor 0; its file is in dir. Errors: ERR_CONFIG
 * (no Unix socket with a name, no such folder, or 1,024 workers already). */
int pool_open(const char *dir, struct pool **pool, struct error **err);
/* Do the same as pool_open(), for the named pool. */
int pool_open_as(const char *dir, const char *name, struct pool **pool, struct error **err);
void pool_close(struct pool *pool);

/* Return whether this worker has the first slot of its pool. */
bool pool_is_first(const struct pool *pool);

/* Return the name of the socket without its folder and ".sock": "api". */
const char *pool_name(const struct pool *pool);

/* Note the claim in the slot of this worker until pool_leave(). A claim without team and user is
 * not bounded. Return false, and leave the slot empty, when the claim does not fit:
 *
 * - The pool is shut.
 * - The team or the user has half of the workers already, and cannot borrow one.
 * - Another worker serves the sandbox, and the claim is `alone`.
 * - The claim is one of too many with `starts` or `waits`.
 *
 * A user of several teams gets no more workers than a user of one team. */
bool pool_enter(struct pool *pool, const struct pool_claim *claim);
void pool_leave(struct pool *pool);

/* Shut the pool, or open it again. While it is shut, pool_enter() of this worker fails. */
void pool_shut(struct pool *pool, bool shut);

/* Let this worker also enter for a team that has its half, if the claim borrows, or end this. Lend
 * only while no connection waits to be accepted: the next connection waits until such a request has
 * ended. */
void pool_lend(struct pool *pool, bool lend);

/* Return whether pool_enter() would succeed with a claim now. */
bool pool_has_room(struct pool *pool, const struct pool_claim *claim);

/* Return whether two tenants without a common team or user have made claims with `starts` in the
 * last minute. Each may then have as many at once as half of the processors, and at least two. A
 * tenant alone may have half of the workers. */
bool pool_is_beside_others(const struct pool *pool);

/* Stop counting the request of this worker as a start, because it waits: for a copy, for room, or
 * for another worker. pool may be NULL here and in pool_resume_start(). */
void pool_suspend_start(struct pool *pool);
/* Count the request as a start again. Return false, without a change, while its team or user has as
 * many starts as pool_is_beside_others() permits. Return true for a claim without `starts`. */
bool pool_resume_start(struct pool *pool);

/* Return whether the request of this worker counts as a start, its tenant also started the sandbox
 * before, and other tenants start sandboxes too. */
bool pool_repeats(const struct pool *pool);

/* A pool of this machine: its live workers, and those that serve a team or a user. */
struct pool_use {
    char name[64];
    unsigned workers, serving;
};
#define POOLS_LOOKED_AT_MAX 32
/* Read the pools with files in dir. Errors: ERR_CONFIG. */
int pools_look(const char *dir, struct pool_use pools[POOLS_LOOKED_AT_MAX], unsigned *count,
               struct error **err);
