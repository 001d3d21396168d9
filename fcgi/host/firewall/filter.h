/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sandboxes of this host as the packet filter has them. One lock guards all of it: the thread
 * that serves FastCGI requests and the one that answers names take it for each thing they do.
 *
 * What is in force is kept in a state directory, on a tmpfs: it outlives this program, as the
 * kernel's rules do, and goes with them at a reboot.
 */
#pragma once

#include <pthread.h>

#include "base/deadline.h"
#include "common/places.h"
#include "config/settings.h"
#include "firewall/denials.h"
#include "firewall/flows.h"
#include "firewall/kernel.h"
#include "firewall/names.h"
#include "firewall/rate.h"
#include "network/protected.h"

#define FILTER_PENDING_MAX      256 /* requests that wait at the same time */
#define FILTER_PENDING_TEAM_MAX 64  /* of one team */

#define FILTER_RESOLVER         0xa9fe0001u /* 169.254.0.1, where sandboxes ask for names */

struct filter_sandbox {
    uint32_t address; /* host byte order */
    struct policy_wire wire;
    struct names names;
    struct name_element *elements; /* what the kernel's sets hold, as far as not run out */
    size_t element_count;
    struct denials denials;
    struct rate lookups, wildcard_lookups; /* that go to the upstream */
    unsigned waiting;                      /* questions without an answer yet */
    int64_t flood_logged_at_ms;            /* monotonic */
    struct rate new_lookups;               /* denied names that nobody else had denied */
    bool names_changed;                    /* a denied name has other addresses; to be applied */
    int64_t names_applied_at_ms;           /* monotonic */
    bool closed;                           /* what it denies cannot be denied: reaches nothing */
    bool dirty;                            /* names that the state directory does not have yet */
    struct filter_sandbox *next;
};

/* Addresses of sandboxes that are gone: see ended.h. */
struct filter_ended {
    uint32_t *addresses; /* rising */
    size_t count;
    int64_t due_at_ms; /* monotonic */
};

#define FILTER_BUCKETS 4096

struct filter {
    const struct settings *settings;
    pthread_mutex_t lock;
    struct kernel *kernel;
    struct flows *flows;
    struct protected_networks protected_networks;
    struct lookup_list lookups;
    struct places pending; /* requests that wait, by the numbers of routes.c */
    uint64_t last_pending;
    struct filter_ended ended;
    struct filter_sandbox *buckets[FILTER_BUCKETS];
    size_t count;
    int64_t started_at_ms; /* wall clock */
    int wake_fd;           /* eventfd, for filter_wake() */
    bool table_missing;
};

/* Connect to the kernel. Errors: ERR_CONFIG. */
int filter_open(const struct settings *settings, struct filter **filter, struct error **err);
void filter_close(struct filter *filter); /* the kernel's rules stay */

/* All below are called with the lock held. */
void filter_lock(struct filter *filter);
void filter_unlock(struct filter *filter);

/* The thread that answers names looks at the lookups now; with or without the lock. */
void filter_wake(const struct filter *filter);

/* Read the state directory and put all of it in force, in one transaction. */
int filter_restore(struct filter *filter, struct error **err);
/* The same from memory: the table was loaded anew. */
int filter_apply_all(struct filter *filter, struct error **err);

/* Put a policy in force, take the contents of wire, cut what it forbids. is_new: the sandbox has
 * not begun any flow yet, so that there is nothing to cut. Names that it denies may have no answer
 * yet: see filter_put_end(). Errors: ERR_STALE_REVISION, ERR_INVALID_REQUEST, ERR_RUNTIME_REFUSED,
 * ERR_RATE_LIMITED (a name that it denies cannot be watched); the former policy stays in force, or
 * the address closed. */
int filter_put(struct filter *filter, struct policy_wire *wire, bool is_new, struct error **err);

/* A policy that was put, and how long its denied names may still be waited for. */
struct filter_put {
    uint32_t address;
    char sandbox_id[65];
    uint64_t revision;
    struct deadline until;
};

/* How long filter_put_end() is to be called again for names without an answer. */
#define FILTER_LOOKUP_WAIT_MS 1000

/* The second half of a put, without waiting: cut what is reached by names that it denies. *ended
 * false: some of them have no answer yet and the time for them is not over; call it again. Names
 * that are answered later are denied later. Errors: ERR_RATE_LIMITED: they have too many addresses,
 * so the sandbox is closed. */
int filter_put_end(struct filter *filter, const struct filter_put *put, bool *ended,
                   struct error **err);

/* Close the address, unless it has another sandbox's policy by now. No packet passes when this
 * returns; what is left in the connection table is cut within a second. */
int filter_delete(struct filter *filter, uint32_t address, const char *sandbox_id,
                  struct error **err);

/* The instance at a closed address has ended: until then this host did not reach it either. */
int filter_ended(struct filter *filter, uint32_t address, const char *sandbox_id,
                 struct error **err);

struct filter_sandbox *filter_find(struct filter *filter, uint32_t address); /* or NULL */

/* Let the sandbox reach these addresses by that name until then (wall clock). Returns when the
 * kernel has it. */
int filter_answered(struct filter *filter, struct filter_sandbox *sandbox, const char *name,
                    const uint32_t *addresses, size_t count, int64_t expires_at_ms,
                    struct error **err);

/* A watched name has an answer: deny what is new in it. */
void filter_watch_answered(struct filter *filter, struct lookup *lookup, const uint32_t *addresses,
                           size_t count, int64_t again_ms);

/* Bring the kernel what filter_watch_answered() left, of sandboxes whose turn it is: each has one
 * only every now and then, however often its denied names change. */
void filter_apply_changed(struct filter *filter);

/* Write names to the state directory that are not there yet. */
void filter_save_dirty(struct filter *filter);
