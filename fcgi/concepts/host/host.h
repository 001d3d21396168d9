/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runtime hosts: rows, their address ranges, and the choice of one for a new sandbox. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/ipv4.h"
#include "db/db.h"
#include "runtime/runtime.h"

/* The storage pool of a host as it was last looked at. */
struct host_pool {
    uint64_t total_mb; /* 0: not known */
    uint64_t used_mb;
    uint64_t promised_gb; /* disks of sandboxes, and volumes */
};
/* Whether it has so little room left that nothing new is put on it. */
bool host_pool_is_nearly_full(const struct host_pool *pool);

enum host_state {
#define STATE(symbol, name) symbol,
#include "host/host_state.def"
#undef STATE
    HOST_STATE_COUNT
};
extern const char *const host_state_names[HOST_STATE_COUNT];

/* Whether it answers, as its monitor last said; 0: it does. */
struct host_condition {
    int64_t silent_since_ms; /* its Incus does not */
    int64_t down_since_ms;   /* its relay does not either, nor what is behind it */
    int64_t lost_at_ms;      /* the operator said that it will not come back */
};
/* "up", "silent", "down" or "lost", and since when; 0: it is up. */
const char *host_condition_name(const struct host_condition *condition, int64_t *since_ms);

struct host {
    uint32_t id;
    char name[64];
    enum host_state state;
    char *url;
    char *server_cert;  /* PEM or NULL */
    char *firewall_url; /* http+unix:///socket or https://host:port; NULL: none, or by the relay */
    char *relay_url; /* https://a.b.c.d:port of its relay; NULL: what is on it is called directly */
    char project[64], pool[64], nic_prefix[3];
    char address_range[19];
    char network[19]; /* what its packet filter and relay let through; "": address_range alone */
    uint32_t vcpus, memory_mb;  /* capacity that may be reserved */
    uint32_t memory_overcommit; /* of memory_mb that may be reserved, in per cent */
    struct host_condition condition;
    bool memory_low;                     /* so little is left that it takes no new sandboxes */
    uint32_t disk_overcommit;            /* how many times its pool it may promise; 0: any */
    uint32_t used_vcpus, used_memory_mb; /* reserved; only from host_list() */
    uint32_t sandboxes;                  /* reserved sandboxes; only from host_list() */
    struct host_pool storage;            /* only from host_list() */
};
/* Whether calls to it are worth their while: those to the machine that asks always are. */
bool host_answers(const struct host *host);
void host_deinit(struct host *host);
void hosts_free(struct host *hosts, unsigned count); /* of host_list() */

/* Insert, or update the host of that name, and make a row for every usable address of its range
 * (IPv4 /16 to /29; first, second and last address are left out). An address range that is in use
 * cannot change, and no two hosts' ranges may overlap, because the edge reaches sandboxes by their
 * address; nor may two have the same relay. host->id is filled in; the state is host->state for a
 * new host and stays what it is for a known one. Errors: ERR_INVALID_REQUEST with the field. */
int host_put(struct db *db, struct host *host, struct error **err);
/* Delete the rows of all addresses of a host, some thousand with each statement. */
int host_addresses_delete(struct db *db, uint32_t host_id, struct error **err);
/* Errors: ERR_NOT_FOUND; nothing to deinit then. */
int host_get(struct db *db, uint32_t id, struct host *host, struct error **err);
int host_get_by_name(struct db *db, const char *name, struct host *host, struct error **err);
/* All hosts by name, with what is reserved on them; for hosts_free(). */
int host_list(struct db *db, struct host **hosts, unsigned *count, struct error **err);
/* Let act have each host that is not lost in its turn. failure: what is logged of a host where it
 * fails, before the next one has its turn; NULL: the error ends it. */
int hosts_each(struct db *db,
               int (*act)(void *context, const struct host *host, struct error **err),
               void *context, const char *failure, struct error **err);
/* Of the process that watches the hosts. */
#define HOST_MONITORS_LEASE "host.monitors"
/* Whether there is such a process: a dispatcher is alive. */
int host_is_watched(struct db *db, bool *watched, struct error **err);
/* Whether the host's runtime tells us of instances that end, at the moment they do. Who says so
 * says it again and again: it holds as long as a named lease. */
int host_mark_heard(struct db *db, uint32_t id, const char *owner, bool heard, struct error **err);
int host_is_heard(struct db *db, uint32_t id, bool *heard, struct error **err);
/* Its monitor says whether it answers. Back: operations that waited for it are due at once. */
int host_note_condition(struct db *db, uint32_t id, const struct host_condition *condition,
                        struct error **err);
/* Inside a transaction: it will not come back, and takes nothing new; its template sources and the
 * instances that wait on it are forgotten. */
int host_note_lost(struct db *db, uint32_t id, struct error **err);
int host_is_lost(struct db *db, uint32_t id, bool *lost, struct error **err);
/* Whether the host takes new sandboxes as far as its memory goes. *changed: it was otherwise. */
int host_set_memory_low(struct db *db, uint32_t id, bool low, bool *changed, struct error **err);

/* --- the largest sandbox --- */

/* Store the number of processors of the host. No sandbox on it can have more. */
int host_set_processors(struct db *db, uint32_t id, unsigned processors, struct error **err);

struct host_largest {
    uint32_t cpu, memory_mb; /* each on the host that has most; 0: there is no host yet */
};
/* Return the most that any host of the deployment could give to one sandbox while it is empty. The
 * numbers may be some seconds old. */
int host_largest(struct db *db, struct host_largest *largest, struct error **err);
/* Find out whether some host could give that much. *fits is true while there is no host. */
int host_size_fits(struct db *db, uint32_t cpu, uint32_t memory_mb, bool *fits, struct error **err);
/* Forget a host that drains, joins, or is lost, and on which nothing is left but template sources
 * and what waited for sandboxes, with the token by which it has joined; what stays on its disks is
 * nobody's. Errors: ERR_NOT_FOUND, ERR_INVALID_REQUEST. */
int host_remove(struct db *db, const char *name, struct error **err);
/* Errors: ERR_NOT_FOUND, ERR_INVALID_REQUEST for one that is lost, or joins. */
int host_set_state(struct db *db, const char *name, enum host_state state, struct error **err);
/* Its trial has succeeded: one that joins takes sandboxes. Any other: nothing is done. */
int host_joined(struct db *db, uint32_t id, struct error **err);
/* It drains, and what can move to other hosts does, until host_set_state(); with_running: what runs
 * is paused for it, and goes on there. Errors: likewise. */
int host_leave(struct db *db, const char *name, bool with_running, struct error **err);

/* Inside a transaction: reserve room for the resources on an active host that has the version's
 * source (of a few that are drawn the one with most free memory; only_host: that one, 0: any;
 * avoid_host: only if there is no other, 0: none) and claim its longest-free address for
 * instance_name. What is reserved is a counter in the host's row, which refuses what is too much;
 * the row stays locked to the end of the transaction, in which the caller writes the sandbox's row,
 * reserved. Errors: ERR_NO_CAPACITY; ERR_INSUFFICIENT_STORAGE when only disks are short. */
int host_place(struct db *db, const char *template_version_id,
               const struct runtime_resources *resources, uint32_t only_host, uint32_t avoid_host,
               const char *instance_name, uint32_t *host_id, uint32_t *address, struct error **err);

/* The same for an instance that waits for a sandbox: there must be room, which is not reserved. */
int host_place_waiting(struct db *db, const char *template_version_id,
                       const struct runtime_resources *resources, const char *instance_name,
                       uint32_t *host_id, uint32_t *address, struct error **err);

/* The same on one host that must be it, for what is copied from a disk that only it has. */
int host_place_on(struct db *db, uint32_t host_id, const struct runtime_resources *resources,
                  bool reserves, const char *instance_name, uint32_t *address, struct error **err);

/* Inside a transaction: reserve room for the resources on the host again (a resume); the caller
 * marks the row reserved in the same transaction. A draining host still takes its own sandboxes
 * back. Errors: ERR_NO_CAPACITY. */
int host_reserve(struct db *db, uint32_t host_id, const struct runtime_resources *resources,
                 struct error **err);

/* The same for a new sandbox on a host that is chosen already; one that drains has no room. */
int host_reserve_new(struct db *db, uint32_t host_id, const struct runtime_resources *resources,
                     struct error **err);

/* Inside a transaction: what any of them reserved is free again. */
int host_room_give(struct db *db, uint32_t host_id, const struct runtime_resources *resources,
                   struct error **err);

/* Inside a transaction: promise disk_gb more of a host's pool, 0 for what only needs that there is
 * room. Errors: ERR_INSUFFICIENT_STORAGE. */
int host_disk_reserve(struct db *db, uint32_t host_id, uint32_t disk_gb, struct error **err);

/* The pool has been looked at; what is promised on it is counted again. */
int host_pool_put(struct db *db, uint32_t host_id, uint64_t total_mb, uint64_t used_mb,
                  struct error **err);

/* Whether a sandbox that has this address may be on the host. */
bool host_has_address(const struct host *host, uint32_t address);

/* What is to move from one host to another. */
struct host_wanted {
    uint32_t from_host;
    uint32_t only_host;        /* 0: any */
    const uint32_t *addresses; /* that it must let through; borrowed */
    unsigned address_count;
    struct runtime_resources resources; /* that there must be room for */
};
/* A host that it may move to: it takes new sandboxes and answers; the one with most free memory. 0:
 * there is none. */
int host_target(struct db *db, const struct host_wanted *wanted, uint32_t *host_id,
                struct error **err);

/* A host that a sandbox of another may move to: it takes new sandboxes, has room for it and lets
 * its address through; the one with most free memory. 0: there is none. */
int host_move_target(struct db *db, uint32_t from_host, uint32_t address,
                     const struct runtime_resources *resources, uint32_t *host_id,
                     struct error **err);

/* Inside a transaction: the address of an instance goes along to another host, and stays there. */
int host_address_move(struct db *db, uint32_t from_host, uint32_t to_host,
                      const char *instance_name, struct error **err);

/* Inside a transaction: claim the longest-free address of a host for an instance that is no
 * sandbox's. Errors: ERR_NO_CAPACITY. */
int host_address_claim(struct db *db, uint32_t host_id, const char *instance_name,
                       uint32_t *address, struct error **err);

/* Give the address of an instance back; none held: success. host_id 0: on whichever host it is. */
int host_address_release(struct db *db, uint32_t host_id, const char *instance_name,
                         struct error **err);
