/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hosts: their rows and address ranges, and the choice of a host for a new sandbox. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/ipv4.h"
#include "db/db.h"
#include "runtime/runtime.h"

/* The storage pool of a host when it was last measured. */
struct host_pool {
    uint64_t total_mb; /* 0: not known */
    uint64_t used_mb;
    uint64_t promised_gb; /* disks of sandboxes, volumes, and memory images */
};
/* Return whether it has too little room for anything new. */
bool host_pool_is_nearly_full(const struct host_pool *pool);

enum host_state {
#define STATE(symbol, name) symbol,
#include "host/host_state.def"
#undef STATE
    HOST_STATE_COUNT
};
extern const char *const host_state_names[HOST_STATE_COUNT];

/* The host's condition as its monitor found it. 0: no such condition. */
struct host_condition {
    int64_t silent_since_ms; /* since when its Incus has not answered */
    int64_t down_since_ms;   /* since when its relay has not answered either */
    int64_t lost_at_ms;      /* when the operator declared it lost */
};
/* Return "up", "silent", "down" or "lost". *since_ms: since when; 0: it is up. */
const char *host_condition_name(const struct host_condition *condition, int64_t *since_ms);

struct host {
    uint32_t id;
    char name[64];
    enum host_state state;
    char *url;
    char *server_cert;  /* PEM or NULL */
    char *firewall_url; /* http+unix:///socket or https://host:port; NULL: no firewall, or through
                         * the relay */
    char *relay_url; /* https://a.b.c.d:port of its relay; NULL: its programs are called directly */
    char project[64], pool[64], nic_prefix[3];
    char address_range[19];
    char architecture[33];      /* of its kernel, as `uname -m` prints it; "": not known */
    char network[19];           /* the addresses that its packet filter and relay accept; "": only
                                 * address_range */
    uint32_t vcpus, memory_mb;  /* capacity that may be reserved */
    uint32_t memory_overcommit; /* the part of memory_mb that may be reserved, in per cent */
    struct host_condition condition;
    bool memory_low;                     /* too little memory is left for new sandboxes */
    uint32_t disk_overcommit;            /* how many times its storage pool it may promise; 0: no
                                          * limit */
    uint32_t used_vcpus, used_memory_mb; /* reserved; only from host_list() */
    uint32_t sandboxes;                  /* reserved sandboxes; only from host_list() */
    struct host_pool storage;            /* only from host_list() */
};
/* Return whether calls to it are worth trying. A lost host never is; a host without a relay is on
 * this machine, and always is otherwise. */
bool host_answers(const struct host *host);
void host_deinit(struct host *host);
void hosts_free(struct host *hosts, unsigned count); /* of host_list() */

/* Insert a host, or update the one with this name. Make a row for each usable address of its range
 * (IPv4 /16 to /29); the first, second and last address are left out.
 *
 * A range with addresses in use cannot change. The ranges of two hosts cannot overlap, because the
 * edge reaches sandboxes by their addresses. Two hosts cannot have the same relay, and all have one
 * architecture. Fills in host->id. A new host gets the state host->state; a known one keeps its
 * state. Errors: ERR_INVALID_REQUEST with the field. */
int host_put(struct db *db, struct host *host, struct error **err);
/* Check that no other host, except a lost one, has another processor architecture: templates and
 * memory images of one do not start on the other. "" fits all. Errors: ERR_INVALID_REQUEST with the
 * field. */
int host_check_architecture(struct db *db, const char *name, const char *architecture,
                            struct error **err);
/* Delete the rows of all addresses of a host, in statements of limited size. */
int host_addresses_delete(struct db *db, uint32_t host_id, struct error **err);
/* Read a host. Errors: ERR_NOT_FOUND; *host needs no host_deinit() then. */
int host_get(struct db *db, uint32_t id, struct host *host, struct error **err);
int host_get_by_name(struct db *db, const char *name, struct host *host, struct error **err);
/* List all hosts by name, with their reserved resources; for hosts_free(). */
int host_list(struct db *db, struct host **hosts, unsigned *count, struct error **err);
/* Call act for each host that is not lost. failure: the message to log when act fails for a host,
 * before the next host; NULL: the error ends the loop. */
int hosts_each(struct db *db,
               int (*act)(void *context, const struct host *host, struct error **err),
               void *context, const char *failure, struct error **err);
/* Call act for each host that is not lost, also after a failure. Errors: the first one of act;
 * those of the database. */
int hosts_try_each(struct db *db,
                   int (*act)(void *context, const struct host *host, struct error **err),
                   void *context, struct error **err);
/* The lease of the process that monitors the hosts. */
#define HOST_MONITORS_LEASE "host.monitors"
/* Check whether such a process runs in a dispatcher. */
int host_is_watched(struct db *db, bool *watched, struct error **err);
/* Note whether the monitor `owner` receives the events of the host's runtime, so that it learns at
 * once of each instance that ends. It repeats the call: the note is valid as long as a named
 * lease. */
int host_mark_heard(struct db *db, uint32_t id, const char *owner, bool heard, struct error **err);
int host_is_heard(struct db *db, uint32_t id, bool *heard, struct error **err);
/* Store whether a host answers, as its monitor found it. When it answers again, the operations that
 * waited for it become due at once. */
int host_note_condition(struct db *db, uint32_t id, const struct host_condition *condition,
                        struct error **err);
/* Mark a host as lost, inside a transaction. It takes nothing new; its template sources and warm
 * instances are forgotten. */
int host_note_lost(struct db *db, uint32_t id, struct error **err);
int host_is_lost(struct db *db, uint32_t id, bool *lost, struct error **err);
/* Store whether the host has too little memory left for new sandboxes. *changed: the row had the
 * other value. */
int host_set_memory_low(struct db *db, uint32_t id, bool low, bool *changed, struct error **err);

/* --- the largest sandbox --- */

/* Store the number of processors of the host. No sandbox on it can have more. */
int host_set_processors(struct db *db, uint32_t id, unsigned processors, struct error **err);

struct host_largest {
    uint32_t cpu, memory_mb; /* each on the host that has most; 0: there is no host yet */
};
/* Return the most that any host of the deployment could give to one sandbox while the host is
 * empty. The numbers may be some seconds old. */
int host_largest(struct db *db, struct host_largest *largest, struct error **err);
/* Check that some host of the deployment could hold a sandbox of this size. Succeed while there is
 * no host. cpu_field, memory_field: the inputs that chose the processors and the memory. One of the
 * two may be NULL: then the other input chose both.
 * Errors: ERR_INVALID_REQUEST with the field and, as "largest", the largest size of any host. */
int host_check_size(struct db *db, uint32_t cpu, uint32_t memory_mb, const char *cpu_field,
                    const char *memory_field, struct error **err);
/* Delete the row of a host that drains, joins or is lost, with the token by which it joined. It may
 * hold only template sources and warm instances; these stay on its disks without a row. Errors:
 * ERR_NOT_FOUND, ERR_INVALID_REQUEST. */
int host_remove(struct db *db, const char *name, struct error **err);
/* Set the state of a host. Errors: ERR_NOT_FOUND, ERR_INVALID_REQUEST for a lost or joining
 * host. */
int host_set_state(struct db *db, const char *name, enum host_state state, struct error **err);
/* Make a joining host active after its trial. Does nothing for a host in another state. */
int host_joined(struct db *db, uint32_t id, struct error **err);
/* Drain a host, and move everything that can move to other hosts, until host_set_state().
 * with_running: pause running sandboxes, move them and resume them there. Errors: as
 * host_set_state(). */
int host_leave(struct db *db, const char *name, bool with_running, struct error **err);

/* Reserve room for a new sandbox, and claim an address for instance_name: the one that has been
 * free longest. Call it inside a transaction.
 *
 * It chooses among active hosts with a source of the version: of a few random ones, the one with
 * the most free memory. If only_host is not 0, it chooses only this host. If avoid_host is not 0,
 * it chooses this host only when no other has room.
 *
 * The reserved resources are counters in the host's row, which refuses too much. The row stays
 * locked to the end of the transaction, in which the caller writes the sandbox's row as reserved.
 * Errors: ERR_NO_CAPACITY; ERR_INSUFFICIENT_STORAGE when only disks are short. */
int host_place(struct db *db, const char *template_version_id,
               const struct runtime_resources *resources, uint32_t only_host, uint32_t avoid_host,
               const char *instance_name, uint32_t *host_id, uint32_t *address, struct error **err);

/* Choose a host for a warm instance, as host_place() does. The host must have room, but none is
 * reserved. */
int host_place_waiting(struct db *db, const char *template_version_id,
                       const struct runtime_resources *resources, uint32_t avoid_host,
                       const char *instance_name, uint32_t *host_id, uint32_t *address,
                       struct error **err);

/* Claim an address on this host as host_place() does, for a copy of a disk that only this host has.
 * reserves: also reserve room. */
int host_place_on(struct db *db, uint32_t host_id, const struct runtime_resources *resources,
                  bool reserves, const char *instance_name, uint32_t *address, struct error **err);

/* Reserve room on the host again for a sandbox that resumes, inside a transaction. The caller marks
 * the row as reserved in the same transaction. A draining host takes its own sandboxes back.
 * Errors: ERR_NO_CAPACITY. */
int host_reserve(struct db *db, uint32_t host_id, const struct runtime_resources *resources,
                 struct error **err);

/* Reserve room for a new sandbox on a host that is chosen already, and promise its disk. A draining
 * host has no room. Errors: ERR_NO_CAPACITY, ERR_INSUFFICIENT_STORAGE. */
int host_reserve_new(struct db *db, uint32_t host_id, const struct runtime_resources *resources,
                     struct error **err);

/* Free the reserved vCPUs and memory, inside a transaction. The promise of the disk ends when
 * host_pool_put() counts again. */
int host_room_give(struct db *db, uint32_t host_id, const struct runtime_resources *resources,
                   struct error **err);

/* Promise disk_gb more of a host's storage pool, inside a transaction. 0: only check that the pool
 * has room. A pool that was never measured has room. Errors: ERR_INSUFFICIENT_STORAGE. */
int host_disk_reserve(struct db *db, uint32_t host_id, uint32_t disk_gb, struct error **err);

/* Store the measured size of the storage pool, and count the promises again. */
int host_pool_put(struct db *db, uint32_t host_id, uint64_t total_mb, uint64_t used_mb,
                  struct error **err);

/* Return whether a sandbox with this address may be on the host. */
bool host_has_address(const struct host *host, uint32_t address);

/* The needs of an object that moves to another host. */
struct host_wanted {
    uint32_t from_host;
    uint32_t only_host;        /* 0: any */
    const uint32_t *addresses; /* the addresses that the host must accept; borrowed */
    unsigned address_count;
    struct runtime_resources resources; /* the room that the host must have */
};
/* Choose a host for the move: it takes new sandboxes and answers, and has the most free memory.
 * *host_id 0: no host is suitable. */
int host_target(struct db *db, const struct host_wanted *wanted, uint32_t *host_id,
                struct error **err);

/* Choose a host for a sandbox of another host: it takes new sandboxes, has room and accepts the
 * sandbox's address. Among these it has the most free memory. *host_id 0: no host is suitable. */
int host_move_target(struct db *db, uint32_t from_host, uint32_t address,
                     const struct runtime_resources *resources, uint32_t *host_id,
                     struct error **err);

/* Move the address of an instance to another host for good, inside a transaction. */
int host_address_move(struct db *db, uint32_t from_host, uint32_t to_host,
                      const char *instance_name, struct error **err);

/* Claim an address for an instance that is not a sandbox's, inside a transaction: the one that has
 * been free longest. Errors: ERR_NO_CAPACITY. */
int host_address_claim(struct db *db, uint32_t host_id, const char *instance_name,
                       uint32_t *address, struct error **err);

/* Release the address of an instance. It succeeds if the instance has none. host_id 0: on any
 * host. */
int host_address_release(struct db *db, uint32_t host_id, const char *instance_name,
                         struct error **err);
