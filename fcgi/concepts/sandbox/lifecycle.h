/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verbs of a sandbox's life. Each one writes the move it makes and an operation record in one
 * transaction, acts on the runtime, and writes the result in another, in which its incarnation
 * must still hold. Whoever dies in between leaves an operation with a lease behind, which the
 * dispatcher finishes.
 *
 * Errors that reach the caller are those of the interface; ERR_RUNTIME_UNAVAILABLE means that the
 * runtime or the database was away, and that whatever was begun is finished in the background.
 */
#pragma once

#include <jansson.h>

#include "account/api_key.h"
#include "checkpoint/checkpoint.h"
#include "sandbox/operation.h"
#include "sandbox/quota.h"
#include "sandbox/sandbox.h"
#include "volume/volume_mount.h"
#include "worker/worker.h"

/* A create request, checked. Strings are borrowed. */
struct sandbox_create {
    const char *user_id;
    const struct team *team;
    const char *source;       /* template or checkpoint reference; NULL: the deployment's default */
    const char *source_field; /* JSON pointer of the member that named it */
    uint64_t timeout_s;
    SANDBOX_CHOICES;
    uint32_t cpu, memory_mb; /* overrides; 0: the version's baseline */
    const char *metadata;    /* JSON object of strings */
    const char *network;     /* JSON object: the policy */
    const char *envs;        /* JSON object of strings, secret; NULL: none */
    struct volume_mount mounts[VOLUME_MOUNTS_MAX];
    unsigned mount_count;
    const char *volume_mounts; /* the same as a JSON object; NULL: none */
    struct exposed_port ports[SANDBOX_PORTS_MAX];
    unsigned port_count;
    bool no_copying; /* what has to be copied to a host with room first: ERR_COPY_FIRST */
    const struct checkpoint *copy; /* what it is made from instead, for a fork; NULL: source */
    const char *forked_from;       /* NULL: none */
    unsigned turn;                 /* of a fork: how many of it come before */
    /* Called inside the transaction that inserts the sandbox; may refuse. May be NULL. */
    int (*claim)(struct db *db, const char *sandbox_id, void *context, struct error **err);
    /* The same inside the transaction that says that it is ready. */
    int (*made)(struct db *db, void *context, struct error **err);
    void *claim_context; /* of both */
};

/* For a fork: write the rows of a sandbox that a dispatcher is to start, work_run_fork(). Errors:
 * as below. */
int sandbox_create_queued(struct worker *worker, const struct sandbox_create *request,
                          struct sandbox *sandbox, struct error **err);

/* Check that some host of the deployment could give a sandbox of this size. Errors:
 * ERR_INVALID_REQUEST with the field and, as "largest", the largest size of any host. */
int sandbox_check_size(struct db *db, uint32_t cpu, uint32_t memory_mb, const char *field,
                       struct error **err);

/* Make a sandbox and wait until it is ready. Whatever fails, nothing is left behind. Errors:
 * ERR_SANDBOX_QUOTA_EXCEEDED with the quota in its details. */
int sandbox_create(struct worker *worker, const struct sandbox_create *request,
                   struct sandbox *sandbox, struct error **err);

/* Stop it, with its memory if that is wanted and the runtime can, joining a pause in flight.
 * Stopped already: success. Where it cannot, on_pause_failure says whether it is stopped with its
 * disk only, or keeps running: ERR_MEMORY_NOT_KEPT, ERR_RUNTIME_UNAVAILABLE (the host was short of
 * something). */
int sandbox_pause(struct worker *worker, const char *id, bool keep_memory, struct sandbox *sandbox,
                  struct error **err);

struct sandbox_resume {
    uint64_t timeout_s;  /* 0: the sandbox's own */
    bool extend_only;    /* of one that runs already the deadline is never moved back */
    bool without_memory; /* of one that is stopped: start it from its disk */
    bool no_copying;     /* what has to be copied to its host, or to another, first */
};

/* Make it run, waiting for moves in flight, and refresh its deadline. Errors: ERR_COPY_FIRST with
 * no_copying, and then nothing was begun. */
int sandbox_resume(struct worker *worker, const char *id, const struct sandbox_resume *how,
                   struct sandbox *sandbox, struct error **err);

/* As sandbox_resume() for a request that found it paused: one that runs already is left as it is,
 * deadline included. */
int sandbox_wake(struct worker *worker, const char *id, struct sandbox *sandbox,
                 struct error **err);

/* What a PATCH changes; members that are not set stay as they are. */
struct sandbox_update {
    const json_t *metadata; /* a JSON merge patch, or NULL; borrowed */
    uint64_t timeout_s;     /* 0: not set; else the deadline becomes now + timeout_s */
    struct sandbox_choices choices;
    struct sandbox_chosen chosen; /* which of them are set */
};

/* Errors: ERR_NOT_FOUND, ERR_INVALID_REQUEST with the field. */
int sandbox_update(struct worker *worker, const char *id, const struct sandbox_update *update,
                   struct sandbox *sandbox, struct error **err);

/* Expose a port (or change who may use it), or withdraw it, on a live sandbox. Errors:
 * ERR_SANDBOX_NOT_RUNNING, ERR_INVALID_REQUEST (too many ports), ERR_NOT_FOUND (withdrawing one
 * that is not exposed). */
int sandbox_port_put(struct worker *worker, const char *id, struct exposed_port port,
                     struct sandbox *sandbox, struct error **err);
int sandbox_port_delete(struct worker *worker, const char *id, uint16_t port, struct error **err);

/* Check a requested timeout against the plan of the sandbox's team and set it. 0: nothing to do. */
int sandbox_take_timeout(struct db *db, struct sandbox *sandbox, uint64_t timeout_s,
                         struct error **err);

/* A checkpoint request, checked. Strings are borrowed. */
struct checkpoint_create {
    const char *user_id;
    const char *name; /* "" for a fork; NULL: one is made */
    bool memory;      /* with the memory, also of one that is stopped and has its memory */
    bool for_fork;    /* counts against no plan, and the caller removes it */
    /* Called inside the transaction that inserts the checkpoint; may refuse. May be NULL. */
    int (*claim)(struct db *db, const char *checkpoint_id, void *context, struct error **err);
    void *claim_context;
};

/* Make a checkpoint of a running sandbox, waiting for moves in flight; the sandbox runs on, with
 * the memory after standing still for a moment. Whatever fails, nothing is left behind. Errors:
 * ERR_SANDBOX_QUOTA_EXCEEDED with the quota in its details, ERR_SANDBOX_NOT_RUNNING,
 * ERR_MEMORY_NOT_KEPT. */
int sandbox_checkpoint(struct worker *worker, const char *id,
                       const struct checkpoint_create *request, struct checkpoint *checkpoint,
                       struct error **err);

/* Move a stopped sandbox with its memory to another host: what a client sees of it is that a resume
 * takes longer meanwhile. Waits until it is there; a dispatcher does it. Errors:
 * ERR_INVALID_REQUEST, ERR_NOT_FOUND, ERR_INSUFFICIENT_STORAGE, ERR_SANDBOX_BUSY,
 * ERR_RUNTIME_REFUSED (it is where it was, and why). */
int sandbox_move(struct worker *worker, const char *id, uint32_t to_host, struct sandbox *sandbox,
                 struct error **err);

/* Begin to move a stopped sandbox to any host that has room for it. Other errors: ERR_NO_CAPACITY.
 */
int sandbox_move_for_room(struct worker *worker, const char *id, struct error **err);

/* Remove the instance of a sandbox that is on another host than its row says, and on no way to
 * there. None is there, or it has come back: success. */
int sandbox_remove_stray(struct worker *worker, const char *id, uint32_t host_id,
                         const char *instance_name, struct error **err);

#define SANDBOX_FORKS_MAX 100

struct sandbox_fork {
    const char *user_id;
    const struct team *team;
    unsigned count;     /* 1 to SANDBOX_FORKS_MAX */
    uint64_t timeout_s; /* 0: the original's */
    /* As in struct checkpoint_create, for the copy that they are made from. */
    int (*claim)(struct db *db, const char *checkpoint_id, void *context, struct error **err);
    void *claim_context;
};

/* What became of one: either a sandbox, or why there is none. */
struct sandbox_forked {
    struct sandbox sandbox;
    struct error *failure;
};
void sandbox_forked_free(struct sandbox_forked *list, unsigned count);

/* Make sandboxes that go on with the disk and the memory of one that runs or is paused with its
 * memory, each under an id, an address and secrets of its own; the original stands still for a
 * moment and goes on. Quota and room are taken for each by itself. A dispatcher starts them,
 * several at once; those that are not started after a while are left to it and are still restoring.
 * list: request->count entries, all zero. Fails only where there is no copy to make any from:
 * errors of sandbox_checkpoint(). */
int sandbox_fork(struct worker *worker, const char *id, const struct sandbox_fork *request,
                 struct sandbox_forked *list, struct error **err);

/* What an earlier attempt made from that copy; its worker is gone. *count: how many. The caller
 * frees. Errors: ERR_REQUEST_IN_PROGRESS. */
int sandbox_fork_found(struct db *db, const struct checkpoint *copy, struct sandbox_forked **list,
                       unsigned *count, struct error **err);

/* Delete it, whatever runs on it. Success means that it is gone for good as far as anyone can see:
 * it is cut off from the network and its team has its quota back. A dispatcher removes the
 * instance, which frees its room on the host. If the sandbox has volumes, or the team deletes
 * faster than instances are removed (quota_may_leave()), the call itself removes it. */
int sandbox_destroy(struct worker *worker, const char *id, struct error **err);
