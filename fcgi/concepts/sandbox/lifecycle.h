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
    const char *source;       /* template reference; NULL: the deployment's default */
    const char *source_field; /* JSON pointer of the member that named it */
    uint64_t timeout_s;
    enum sandbox_on_timeout on_timeout;
    bool auto_resume;
    bool pause_memory; /* a pause at the deadline keeps it */
    enum sandbox_on_pause_failure on_pause_failure;
    uint32_t cpu, memory_mb; /* overrides; 0: the version's baseline */
    const char *metadata;    /* JSON object of strings */
    const char *network;     /* JSON object: the policy */
    bool allow_public_traffic;
    bool all_ports;   /* every one that is not reserved is exposed */
    const char *envs; /* JSON object of strings, secret; NULL: none */
    struct volume_mount mounts[VOLUME_MOUNTS_MAX];
    unsigned mount_count;
    const char *volume_mounts; /* the same as a JSON object; NULL: none */
    struct exposed_port ports[SANDBOX_PORTS_MAX];
    unsigned port_count;
    /* Called inside the transaction that inserts the sandbox; may refuse. May be NULL. */
    int (*claim)(struct db *db, const char *sandbox_id, void *context, struct error **err);
    void *claim_context;
};

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
};

/* Make it run, waiting for moves in flight, and refresh its deadline. */
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
    bool set_on_timeout, set_auto_resume, set_on_pause_failure, set_pause_memory,
        set_public_traffic;
    enum sandbox_on_timeout on_timeout;
    bool auto_resume, pause_memory;
    enum sandbox_on_pause_failure on_pause_failure;
    bool allow_public_traffic;
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
    const char *name;
    /* Called inside the transaction that inserts the checkpoint; may refuse. May be NULL. */
    int (*claim)(struct db *db, const char *checkpoint_id, void *context, struct error **err);
    void *claim_context;
};

/* Make a checkpoint of a running sandbox, waiting for moves in flight; the sandbox runs on.
 * Whatever fails, nothing is left behind. Errors: ERR_SANDBOX_QUOTA_EXCEEDED with the quota in its
 * details, ERR_NAME_TAKEN, ERR_SANDBOX_NOT_RUNNING. */
int sandbox_checkpoint(struct worker *worker, const char *id,
                       const struct checkpoint_create *request, struct checkpoint *checkpoint,
                       struct error **err);

/* Delete it, whatever runs on it. Success means that it is gone for good as far as anyone can see:
 * it is cut off from the network and its team has its quota back. Its instance goes in the
 * background, and with it the room on its host; one with volumes is waited for. */
int sandbox_destroy(struct worker *worker, const char *id, struct error **err);
