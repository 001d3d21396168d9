/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hold the sandboxes of this host as the packet filter has them.
 *
 * One lock guards everything. The thread for FastCGI requests and the thread for names take it for
 * each piece of work. The policies in force are also in a state directory on a tmpfs. The directory
 * outlives this program, as the kernel's rules do, and both are lost at a reboot.
 */
#pragma once

#include <pthread.h>

#include "base/deadline.h"
#include "base/places.h"
#include "config/settings.h"
#include "firewall/approval_entries.h"
#include "firewall/denials.h"
#include "firewall/flows.h"
#include "firewall/kernel.h"
#include "firewall/names.h"
#include "firewall/rate.h"
#include "firewall/shares.h"
#include "firewall/sources.h"
#include "firewall/ways.h"
#include "network/protected.h"

#define FILTER_PENDING_MAX      256 /* requests that wait at the same time */
#define FILTER_PENDING_TEAM_MAX 64  /* of one team */

#define FILTER_EGRESS_PER_S     4000 /* requests of egress rules, of all teams together */

#define FILTER_RESOLVER         0xa9fe0001u /* 169.254.0.1, the resolver of sandboxes */

struct filter_sandbox {
    uint32_t address; /* host byte order */
    struct policy_wire wire;
    struct names names;
    struct name_element *elements; /* in the kernel's sets, unless expired */
    size_t element_count;
    struct denials denials;
    struct approval_entries asks;
    json_t *secrets_used;  /* name -> when it was last sent, wall clock ms; NULL: none was; owned */
    struct rate questions; /* for names */
    struct rate lookups, wildcard_lookups; /* lookups that go to the upstream */
    unsigned waiting;                      /* questions without an answer */
    int64_t flood_logged_at_ms;            /* monotonic */
    struct rate new_lookups;               /* denied names that no other policy denies */
    bool names_changed;                    /* a denied name has other addresses */
    int64_t names_applied_at_ms;           /* monotonic */
    uint64_t way;               /* a new number for each other egress proxy of the policy */
    uint64_t rules;             /* the same for other egress rules, secrets or another proxy */
    int64_t proxy_logged_at_ms; /* monotonic */
    bool closed;                /* the denied names do not fit: all packets are refused */
    bool dirty;                 /* the state directory lacks some names */
    struct filter_sandbox *next;
};

/* Return the tenant of a sandbox for shares. A sandbox whose policy names no team, as policies of
 * earlier versions did not, is a tenant of its own. */
static inline struct tenant filter_tenant(const struct filter_sandbox *sandbox)
{
    return (struct tenant){sandbox->wire.tenant ? sandbox->wire.tenant : sandbox->address,
                           sandbox->wire.user};
}

/* Addresses of ended sandboxes: see stale_flows.h. */
struct filter_ended {
    uint32_t *addresses; /* in rising order */
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
    struct sources sources;
    struct lookup_list lookups;
    struct ways ways;
    struct shares egress_requests;
    struct places pending; /* waiting requests, by the numbers of routes.c */
    uint64_t last_pending, last_way;
    struct filter_ended ended;
    struct filter_sandbox *buckets[FILTER_BUCKETS];
    size_t count;
    size_t element_count;  /* of all sandboxes together */
    size_t next_changed;   /* the bucket that filter_apply_changed() begins with */
    size_t next_saved;     /* the same of state_save_dirty() */
    int64_t started_at_ms; /* wall clock */
    int wake_fd;           /* eventfd, for filter_wake() */
    bool table_missing;
};

/* Connect to the kernel. Errors: ERR_CONFIG. */
int filter_open(const struct settings *settings, struct filter **filter, struct error **err);
void filter_close(struct filter *filter); /* the kernel's rules stay */

/* Lock the filter; the calls below need the lock. */
void filter_lock(struct filter *filter);
void filter_unlock(struct filter *filter);

/* Let the thread for names check the lookups now. The lock may be held or not. */
void filter_wake(const struct filter *filter);

/* Read the state directory, and apply all policies in one transaction. Errors: ERR_CONFIG (cannot
 * read the directory), ERR_RUNTIME_REFUSED. */
int filter_restore(struct filter *filter, struct error **err);
/* Apply all policies again, in one transaction, after the table was loaded again. Errors:
 * ERR_RUNTIME_REFUSED. */
int filter_apply_all(struct filter *filter, struct error **err);

/* Apply a policy, take the contents of wire, and cut the flows that it forbids. is_new: the sandbox
 * has no flows yet, so none are cut. Denied names may have no answer yet: see filter_put_end().
 * Errors: ERR_STALE_REVISION, ERR_RUNTIME_REFUSED, ERR_RATE_LIMITED (denied names cannot be looked
 * up, or have too many addresses; the tenant's policies take too much memory). After these, the
 * previous policy stays in force, or the address stays closed. After ERR_INTERNAL, the new policy
 * is in force, but its file could not be written. */
int filter_put(struct filter *filter, struct policy_wire *wire, bool is_new, struct error **err);

/* A policy after filter_put(), and the deadline for the answers of its denied names. */
struct filter_put {
    uint32_t address;
    char sandbox_id[65];
    uint64_t revision;
    struct deadline until;
};

/* The time for repeated calls of filter_put_end() while denied names have no answer. */
#define FILTER_LOOKUP_WAIT_MS 1000

/* Finish filter_put() without a wait: cut the flows to addresses of denied names. While some names
 * have no answer and there is time left, *ended is false. Then call this again. Names that are
 * answered later are denied later. Errors: ERR_RATE_LIMITED: the names have too many addresses, so
 * the sandbox is closed. */
int filter_put_end(struct filter *filter, const struct filter_put *put, bool *ended,
                   struct error **err);

/* Close an address, unless another sandbox has it. On return, no packets pass. The flows in the
 * connection table are cut within a second. Errors: ERR_RUNTIME_REFUSED, ERR_INTERNAL. The call can
 * be repeated. */
int filter_delete(struct filter *filter, uint32_t address, const char *sandbox_id,
                  struct error **err);

/* Do the same as filter_delete() at the end of the instance, and let this host reach the address
 * again. Same errors. */
int filter_ended(struct filter *filter, uint32_t address, const char *sandbox_id,
                 struct error **err);

struct filter_sandbox *filter_find(struct filter *filter, uint32_t address); /* or NULL */

/* Check whether the policy of a sandbox allows a flow that began under this or an earlier policy.
 */
bool filter_allows(const struct filter *filter, const struct filter_sandbox *sandbox,
                   const struct flow *flow);

/* Let a sandbox reach these addresses by name until expires_at_ms (wall clock). On return, the
 * kernel has the addresses. Errors: ERR_RUNTIME_REFUSED, ERR_RATE_LIMITED (its denied names have
 * too many addresses). */
int filter_answered(struct filter *filter, struct filter_sandbox *sandbox, const char *name,
                    const uint32_t *addresses, size_t count, int64_t expires_at_ms,
                    struct error **err);

/* Note that the sandbox needs approval, after a refusal: of a name, or of a connection to an
 * address. Does nothing when the policy does not ask, when an entry denies it, or when no entry
 * could allow it. */
void filter_ask_name(struct filter_sandbox *sandbox, const char *name);
void filter_ask_connection(const struct filter *filter, struct filter_sandbox *sandbox,
                           uint32_t address, uint16_t port);

/* Handle the answer for a denied name: deny its new addresses. */
void filter_watch_answered(struct filter *filter, struct lookup *lookup, const uint32_t *addresses,
                           size_t count, int64_t again_ms);

/* Apply the changes of filter_watch_answered(). Each sandbox has a turn only now and then, however
 * often its denied names change. If there are many, the next call continues with the others. */
void filter_apply_changed(struct filter *filter);
