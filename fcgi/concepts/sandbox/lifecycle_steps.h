/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps of the verbs in lifecycle.h, for sandbox_*.c and for the jobs of the dispatcher that
 * continue an operation. */
#pragma once

#include "base/buffer.h"
#include "base/deadline.h"
#include "network/firewall_client.h"
#include "sandbox/lifecycle.h"
#include "sandbox/mount_list.h"

#define SANDBOX_ENVS_MAX (512 * 1024) /* sealed: 64 KiB in JSON, where a byte may take six */

/* An operation on which this process works. */
struct work {
    struct worker *worker;
    struct sandbox sandbox;
    struct operation operation;
    bool queued; /* the operation is left to the first dispatcher */
    /* Called inside the transaction of work_finish() that writes a move; may be NULL. */
    int (*settle)(struct db *db, void *context, struct error **err);
    void *settle_context;
    /* The values for its agent, if the caller knows them; else they are read from the database. */
    struct agent_told {
        bool known;
        const char *envs; /* borrowed; NULL: none */
        uint32_t log_kib;
        const char *services; /* borrowed; NULL: the agent has them */
    } told;
    struct runtime *runtime; /* of the sandbox's host, after work_open_runtime() */
    struct lease lease;
    int64_t answer_by_ms;        /* monotonic: later, the host finishes without us; 0: no limit */
    struct deadline agent_until; /* for all waits for its agent together */
    int64_t started_ms;
    struct firewall *firewall; /* with a running call */
    struct firewall_size size; /* a new size in that call; instance NULL: none */
    bool sized;                /* the host has set that size */
    enum { NETWORK_UNTOUCHED, NETWORK_APPLIED, NETWORK_FAILED } network; /* of the call */
    char memory_lost[256]; /* why a move lost the memory that it had to keep; "": it did not */
    /* A move pauses and resumes it: the quota does not limit the memory, and hooks may fail. */
    bool in_transit;
    const char *outcome;      /* "done", "failed" or "deferred"; static, NULL: not yet known */
    unsigned hold_services_s; /* the services of a new agent wait for a hook; 0: they do not */
    bool leaves_hook;         /* a hook that does not end soon is left to a later attempt */
    bool policy_may_stand;    /* the firewall has not confirmed the removal of its policy */
};
void work_deinit(struct work *work);
static inline void work_autodeinit_(struct work *work)
{
    work_deinit(work);
}
#define work_auto __attribute__((cleanup(work_autodeinit_))) struct work

/* Begin an operation by an event: lock the row, check the move, write it.
 *
 * admit (may be NULL) runs in the same transaction on the locked row, before anything is written,
 * and may refuse.
 *
 * A request that has waited counts as a start of its pool again. Errors: ERR_SHARE_USED_UP while
 * its team or user has too many; wait_while_busy() waits for that too. */
int work_begin(struct work *work, struct worker *worker, const char *sandbox_id,
               enum sandbox_event event, enum operation_kind kind,
               int (*admit)(struct db *db, struct sandbox *sandbox, void *context,
                            struct error **err),
               void *context, struct error **err);

/* Do the part of work_begin() after the lock, for callers with a transaction of their own.
 * work->sandbox is locked and read. */
int work_begin_locked(struct work *work, struct db *db, enum sandbox_event event,
                      enum operation_kind kind, struct error **err);

/* Start the clock of the lease. work_begin() does this; call it after a transaction of your own. */
void work_start(struct work *work, struct worker *worker);

/* Use the condition of the host that was just read with work->sandbox, instead of the one that this
 * worker remembers. */
void work_note_host(struct work *work);

/* Check that the host answers, before beginning something that would wait for it in vain. Errors:
 * those of runtimes_check(). */
int work_check_host(struct work *work, struct error **err);

/* Connect to the host. While the runtime waits, it renews the lease. */
int work_open_runtime(struct work *work, struct error **err);

/* In the transaction that begins a resume: take the volumes for the sandbox. When they have moved
 * to another host, the sandbox must move there first: ERR_NO_CAPACITY. */
int work_lock_volumes(struct db *db, const struct sandbox *sandbox, struct error **err);
#define SANDBOX_FOLLOW_RETRY_S 5

/* Update the size and volumes of the instance in Incus, if this is still to be done
 * (sandbox_size.h). Call it before Incus acts on the instance by its own records, after
 * work_open_runtime(). */
int work_tell_size(struct work *work, struct error **err);
/* Update only the volumes of the instance in Incus, before it starts again. A program of an earlier
 * version, which still runs after an upgrade, updates only the size. */
int work_tell_volumes(struct work *work, struct error **err);

/* End the changes of the volumes' files from outside, before the instance starts or gets the
 * volumes. Needs work_open_runtime(). */
int work_fence_volumes(struct work *work, struct error **err);

/* Count the request as a start of its pool again, before an act that takes much processor time.
 * Waits of the work end the count: for a copy, a hook, Incus or another process. Errors:
 * ERR_RUNTIME_UNAVAILABLE (others start all the time; a dispatcher continues the operation), and
 * those of lease_tick(). */
int work_wait_for_turn(struct work *work, struct error **err);

/* Renew the lease before an act that would harm a sandbox that another worker has taken over.
 * Errors: ERR_LEASE_LOST. */
int work_still_ours(struct work *work, struct error **err);

/* Return the deadline of one wait for its agent: wait_ms from now, within the time that all such
 * waits of this work may take together. This time begins again after a hook, with an instance that
 * is made, and with a start from the disk in place of the memory. */
struct deadline work_agent_deadline(struct work *work, unsigned wait_ms);

/* Return the longest wait for its agent after a start from the disk. */
unsigned work_start_wait_ms(const struct work *work);

/* Find the address of its agent. Errors: those of runtimes_link(). */
int work_find_agent(struct work *work, struct agent_place *at, struct error **err);

/* Find its address and its secret, which has AGENT_SECRET_SIZE bytes; the caller wipes it. */
int work_know_agent(struct work *work, struct agent_place *at, char *secret, struct error **err);

/* Give the agent its secret and the sandbox's environment. */
int work_init_agent(struct work *work, unsigned wait_ms, struct error **err);

/* Append the sandbox's environment to envs, which the caller wipes, and return how many KiB of its
 * processes' output are kept. */
int sandbox_open_envs(struct worker *worker, const char *id, struct buffer *envs, uint32_t *log_kib,
                      struct error **err);

/* Give the agent its secret and environment when it was restored from the memory of another
 * instance. */
struct former_agent {
    const char *instance_name;
    uint16_t key_id;
};
int work_succeed_agent(struct work *work, const struct former_agent *former, unsigned wait_ms,
                       struct error **err);

/* Reinitialise the agent of a running sandbox. An agent that its init has restarted gets its secret
 * again. An agent that refused requests accepts them again. Any other agent answers as before. A
 * failure is only logged. */
void work_greet_agent(struct work *work);

/* Before a pause: disconnect the streams of clients. A failure does not matter, because an agent
 * that does not answer serves no streams either. */
void work_hang_up(struct work *work);

/* Check whether the agent already has its secret, which means that it came back with its memory. */
int work_agent_continues(struct work *work, unsigned wait_ms, bool *continues, struct error **err);

/* Put the sandbox's policy into force. Begin before a long step, end before the caller learns the
 * result. After a failure the sandbox reaches nothing, and a dispatcher tries again. Needs
 * work_open_runtime(). */
void work_network_begin(struct work *work);
void work_network_end(struct work *work);
/* Make sure that the firewall has the policy's request, before a start; call it after
 * work_network_begin(). Where the request could not be sent at once, this also does the end. So a
 * starting sandbox lacks its network only for the short time that the policy takes. */
void work_network_tell(struct work *work);

/* Begin and end, before a paused sandbox starts again. Errors: ERR_RUNTIME_UNAVAILABLE when the
 * firewall may still have an older policy for it, under which it must not start. */
int work_network_resume(struct work *work, struct error **err);

/* Remove the policy of a sandbox that ends, in the same two steps. */
void work_network_remove_begin(struct work *work);
void work_network_remove_end(struct work *work);
/* Clear the sandbox's address after its instance is gone, for the next sandbox there. */
void work_network_ended(struct work *work);

/* In the transaction that writes a result: write the part about the policy. */
int work_network_settle(const struct work *work, struct db *db, struct sandbox *row,
                        struct error **err);

/* Write the result: lock the row, check that the operation is still the sandbox's, write the new
 * state. failure NULL: done. Afterwards work->sandbox is the row as written. Errors:
 * ERR_LEASE_LOST. */
int work_finish(struct work *work, enum sandbox_event event, const struct error *failure,
                struct error **err);

/* Write the event that an operation ("create", "pause", "resume") failed, with the error that a
 * client of the call gets. */
int work_tell_failed(const struct work *work, struct db *db, const char *operation,
                     const struct error *failure, struct error **err);

/* Change the deadline, reservation and times of a sandbox for an event; not its state. */
void sandbox_apply_event(struct sandbox *sandbox, enum sandbox_event event);

/* Leave the operation to the dispatcher, which soon tries again, because the runtime or the
 * database could not be reached. */
void work_defer(struct work *work, const struct error *failure);

/* Do the same without counting the attempt, because the host could not be reached. */
void work_await_host(struct work *work, const struct error *failure);

/* Let this pause or resume of a running sandbox be a part of its move. The pause keeps the memory
 * or fails: neither the sandbox's own choice nor the quota of its team counts. Hooks may fail. */
static inline void work_be_in_transit(struct work *work)
{
    work->in_transit = true;
    work->sandbox.on_pause_failure = ON_PAUSE_FAILURE_KEEP_RUNNING;
}

/* Turn an inner error into one of the interface. Call it last, because it may read the sandbox's
 * row. */
int work_public_error(struct work *work, struct error **err);

/* Make and start the instance of its row from a checkpoint, and put its policy into force. Needs
 * work_open_runtime(). */
int work_start_from(struct work *work, const struct checkpoint *checkpoint,
                    const struct mount_list *mounts, struct error **err);

/* Do the runtime's part of the operation, up to its finish or deferral. */
int work_run_pause(struct work *work, struct error **err);
int work_run_resume(struct work *work, struct error **err);
int work_run_rollback(struct work *work, struct error **err);
int work_run_destroy(struct work *work, struct error **err);
int work_run_fork(struct work *work, struct error **err);
int work_run_move(struct work *work, struct error **err);

/* Begin to move one sandbox from a host that is being drained. *begun: whether there was one that
 * could move. */
int work_begin_leaving(struct work *work, struct worker *worker, bool *begun, struct error **err);

/* Begin to move a paused sandbox, for a caller that continues the move. to_host 0: to any host
 * with room. note: a function that is called inside the transaction, and can refuse the move; may
 * be NULL. */
int work_begin_move(struct work *work, struct worker *worker, const char *id, uint32_t to_host,
                    int (*note)(struct db *db, const char *id, struct error **err),
                    struct error **err);

/* Give up the checkpoint of an operation whose worker is gone. */
int work_undo_checkpoint(struct work *work, struct error **err);

/* Cut a sandbox off after its removal has begun: it reaches nothing and cannot be reached, though
 * it may still run for a while. */
void work_cut_off(struct work *work);

/* Check whether an operation failed because its host, another machine, could not be reached. */
bool work_lacks_host(struct work *work, const struct error *failure);

/* Begin and run the removal of a sandbox whose create failed. If its host could not be reached,
 * only begin it. */
int work_undo_create(struct work *work, struct error **err);

/* Wait a moment after ERR_SANDBOX_BUSY or ERR_SHARE_USED_UP, and clear *err. The request counts as
 * no start of its pool from then on. give_up_ms is monotonic. Return -1 with the unchanged *err
 * when the time is over, and after another error. */
int wait_while_busy(struct worker *worker, int64_t give_up_ms, struct error **err);
