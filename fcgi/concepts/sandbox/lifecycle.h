/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verbs of a sandbox's life. Each verb has three steps. One transaction writes the new state
 * and an operation. Then the verb acts on the runtime. Another transaction writes the result, if
 * the incarnation is still the same. A process that dies in between leaves an operation with a
 * lease; the dispatcher finishes it.
 *
 * Callers get the errors of the interface. ERR_RUNTIME_UNAVAILABLE means that the runtime or the
 * database could not be reached, and that a dispatcher finishes the operation in the background.
 */
#pragma once

#include <jansson.h>

#include "account/api_key.h"
#include "checkpoint/checkpoint.h"
#include "sandbox/operation.h"
#include "sandbox/quota.h"
#include "sandbox/sandbox.h"
#include "template/template.h"
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
    const char *services;    /* JSON list (service/service.h), secret; NULL: those of the source */
    const char *hooks;       /* JSON object (service/hooks.h); NULL or "": none */
    struct volume_mount mounts[VOLUME_MOUNTS_MAX];
    unsigned mount_count;
    const char *volume_mounts; /* the same as a JSON object; NULL: none */
    struct exposed_port ports[SANDBOX_PORTS_MAX];
    unsigned port_count;
    bool image_ports; /* expose the TCP ports of the version's image, as private ones */
    bool leaves_warm; /* the last warm instances of a template of another team */
    bool no_copying;  /* ERR_COPY_FIRST if something must be copied to a host with room first */
    const struct checkpoint *copy; /* used instead of source, for a fork; NULL: source */
    /* Used instead of source, for its own build; NULL: source. */
    const struct template_version *version;
    const char *forked_from; /* NULL: not a fork */
    unsigned turn;           /* of a fork: how many sandboxes of the same fork come before */
    /* Called inside the transaction that inserts the sandbox; may refuse. May be NULL. */
    int (*claim)(struct db *db, const char *sandbox_id, void *context, struct error **err);
    /* Called inside the transaction that makes the sandbox ready. May be NULL. */
    int (*made)(struct db *db, void *context, struct error **err);
    void *claim_context; /* for both calls */
};

/* For a fork: write the rows of a sandbox that a dispatcher starts with work_run_fork(). Errors: as
 * sandbox_create(). */
int sandbox_create_queued(struct worker *worker, const struct sandbox_create *request,
                          struct sandbox *sandbox, struct error **err);

/* Do the checks of a create that need no locks, without making anything. network may be NULL.
 * Errors: those of sandbox_create(). */
int sandbox_create_check(struct worker *worker, const struct sandbox_create *request,
                         struct error **err);

/* Create a sandbox and wait until it is ready. A failure leaves nothing behind. Errors:
 * ERR_SANDBOX_QUOTA_EXCEEDED with the quota in its details, ERR_STOPPED_QUOTA_EXCEEDED (the team
 * has more paused sandboxes than its plan keeps), ERR_NAME_TAKEN. */
int sandbox_create(struct worker *worker, const struct sandbox_create *request,
                   struct sandbox *sandbox, struct error **err);

/* Pause a sandbox, or join a pause in progress. keep_memory: keep the memory if the runtime can.
 * Success also when it is paused already. When the memory cannot be kept, on_pause_failure
 * decides: the sandbox is paused with its disk only, or keeps running. Then the errors are
 * ERR_MEMORY_NOT_KEPT and ERR_RUNTIME_UNAVAILABLE (the host lacked resources). */
int sandbox_pause(struct worker *worker, const char *id, bool keep_memory, struct sandbox *sandbox,
                  struct error **err);

struct sandbox_resume {
    uint64_t timeout_s;  /* 0: the sandbox's own */
    bool extend_only;    /* never shorten the deadline of a running sandbox */
    bool without_memory; /* start a paused sandbox from its disk */
    bool no_copying;     /* refuse instead of copying files to its host, or to another host */
};

/* Make a sandbox run and renew its deadline. The call waits for operations in progress. Errors:
 * ERR_COPY_FIRST with no_copying; then nothing has begun. */
int sandbox_resume(struct worker *worker, const char *id, const struct sandbox_resume *how,
                   struct sandbox *sandbox, struct error **err);

struct sandbox_rollback {
    const struct team *team; /* of the sandbox */
    const char *checkpoint;  /* as checkpoint_resolve() reads it; made of this sandbox, or the one
                              * that it was made from */
    uint64_t timeout_s;      /* 0: the sandbox's own */
};

/* Replace the disk and the memory of a running or paused sandbox by those of a checkpoint. Id,
 * address, ports, policy and secrets stay. Its present disk and memory are lost, also when a
 * failure of its host lets it end as stopped; a later rollback may then succeed. When the
 * checkpoint's memory does not start, its disk does. The call waits for operations in progress.
 * Errors: ERR_INVALID_REQUEST and ERR_NOT_FOUND with the field, ERR_SANDBOX_QUOTA_EXCEEDED,
 * ERR_NO_CAPACITY. */
int sandbox_rollback(struct worker *worker, const char *id, const struct sandbox_rollback *how,
                     struct sandbox *sandbox, struct error **err);

/* Resume a sandbox for a request that found it paused. Unlike sandbox_resume(), this leaves a
 * running sandbox and its deadline as they are. */
int sandbox_wake(struct worker *worker, const char *id, struct sandbox *sandbox,
                 struct error **err);

/* The changes of a PATCH; members that are not set stay as they are. */
struct sandbox_update {
    const json_t *metadata; /* a JSON merge patch, or NULL; borrowed */
    uint64_t timeout_s;     /* 0: not set; else the deadline becomes now + timeout_s */
    struct sandbox_choices choices;
    struct sandbox_chosen chosen; /* which choices are set */
};

/* Apply the changes; *sandbox is the row afterwards. The end of public traffic ends the open
 * previews. Errors: ERR_NOT_FOUND, ERR_INVALID_REQUEST with the field, ERR_NAME_TAKEN. */
int sandbox_update(struct worker *worker, const char *id, const struct sandbox_update *update,
                   struct sandbox *sandbox, struct error **err);

/* Keep idleness from pausing a running sandbox for hold_s seconds from now; 0 ends the hold. Its
 * deadline stays. Errors: those of sandbox_state_require_running() for a new hold,
 * ERR_NOT_FOUND. */
int sandbox_hold(struct worker *worker, const char *id, uint32_t hold_s, struct sandbox *sandbox,
                 struct error **err);

/* Expose a port of a running sandbox or change its access, or withdraw a port. Previews that are
 * not allowed any more end. Errors: those of sandbox_state_require_running(), ERR_INVALID_REQUEST
 * (too many ports), ERR_NOT_FOUND (the port to withdraw is not exposed). */
int sandbox_port_put(struct worker *worker, const char *id, struct exposed_port port,
                     struct sandbox *sandbox, struct error **err);
int sandbox_port_delete(struct worker *worker, const char *id, uint16_t port, struct error **err);

/* Check a requested timeout against the plan of the sandbox's team and set it. 0: the sandbox's
 * own, shortened to the longest of the plan. */
int sandbox_take_timeout(struct db *db, struct sandbox *sandbox, uint64_t timeout_s,
                         struct error **err);

/* A checkpoint request, checked. Strings are borrowed. */
struct checkpoint_create {
    const char *user_id;
    const char *name; /* "" for a fork and for a template version; NULL: a name is generated */
    bool memory;      /* include the memory, also that of a paused sandbox */
    bool for_fork;    /* a snapshot of the sandbox's instance; the caller deletes it */
    /* Called inside the transaction that inserts the checkpoint; may refuse. May be NULL. */
    int (*claim)(struct db *db, const char *checkpoint_id, void *context, struct error **err);
    void *claim_context;
};

/* Make a checkpoint of a sandbox. The call waits for operations in progress. The sandbox continues
 * to run; with memory it is frozen for a moment. A failure leaves nothing behind. Errors:
 * ERR_CHECKPOINT_QUOTA_EXCEEDED with limit and use, ERR_STOPPED_QUOTA_EXCEEDED and
 * ERR_INSUFFICIENT_STORAGE (the memory has no room), ERR_SANDBOX_NOT_RUNNING,
 * ERR_MEMORY_NOT_KEPT. */
int sandbox_checkpoint(struct worker *worker, const char *id,
                       const struct checkpoint_create *request, struct checkpoint *checkpoint,
                       struct error **err);

/* Move a paused sandbox with its memory to another host, and wait until it is there. A dispatcher
 * does the move. Clients only notice that a resume takes longer meanwhile. Errors:
 * ERR_INVALID_REQUEST, ERR_NOT_FOUND, ERR_INSUFFICIENT_STORAGE, ERR_SANDBOX_BUSY,
 * ERR_RUNTIME_REFUSED (the sandbox has not moved; the message has the reason). */
int sandbox_move(struct worker *worker, const char *id, uint32_t to_host, struct sandbox *sandbox,
                 struct error **err);

/* Begin to move a paused sandbox to any host with room for it. Errors: as sandbox_move(), and
 * ERR_NO_CAPACITY. */
int sandbox_move_for_room(struct worker *worker, const char *id, struct error **err);

/* Delete the instance of a sandbox from a host that is neither the host in its row nor the target
 * of its move. Success also when there is no instance, or the sandbox has returned to the host. */
int sandbox_remove_stray(struct worker *worker, const char *id, uint32_t host_id,
                         const char *instance_name, struct error **err);

#define SANDBOX_FORKS_MAX 100

struct sandbox_fork {
    const char *user_id;
    const struct team *team;
    const char *name;   /* borrowed; only for a single one; NULL: none */
    unsigned count;     /* 1 to SANDBOX_FORKS_MAX */
    uint64_t timeout_s; /* 0: the original's */
    /* As in struct checkpoint_create, for the checkpoint that the fork starts from. */
    int (*claim)(struct db *db, const char *checkpoint_id, void *context, struct error **err);
    void *claim_context;
};

/* One result of a fork: a sandbox, or the error that prevented it. */
struct sandbox_forked {
    struct sandbox sandbox;
    struct error *failure;
};
void sandbox_forked_free(struct sandbox_forked *list, unsigned count);

/* Create sandboxes that continue with the disk and the memory of a running sandbox, or of one that
 * is paused with its memory. Each gets its own id, address and secrets. The original is frozen for
 * a moment. Each sandbox takes its quota and room separately.
 *
 * A dispatcher starts the sandboxes, several at once. Those that have not started after a while are
 * returned as restoring, and the dispatcher continues. list: request->count entries, all zero. The
 * call fails only when the checkpoint cannot be made: errors of sandbox_checkpoint(). */
int sandbox_fork(struct worker *worker, const char *id, const struct sandbox_fork *request,
                 struct sandbox_forked *list, struct error **err);

/* Find the sandboxes that an earlier attempt made from the checkpoint `copy`, when its worker is
 * gone. *count: how many. The caller sets *list to NULL before, and ends with
 * sandbox_forked_free(), also after an error. Errors: ERR_REQUEST_IN_PROGRESS. */
int sandbox_fork_found(struct db *db, const struct checkpoint *copy, struct sandbox_forked **list,
                       unsigned *count, struct error **err);

/* Delete a sandbox in any state. On success it is cut off from the network and its team has its
 * quota back. A dispatcher deletes the instance, which frees its room on the host. If the sandbox
 * has volumes, or the team deletes faster than instances are removed (quota_may_leave()), the call
 * itself deletes the instance. */
int sandbox_destroy(struct worker *worker, const char *id, struct error **err);
