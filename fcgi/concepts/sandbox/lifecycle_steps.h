/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the verbs of lifecycle.h are made of: for sandbox_*.c, and for the jobs of the dispatcher
 * that go on with an operation. */
#pragma once

#include "base/buffer.h"
#include "base/deadline.h"
#include "network/firewall_client.h"
#include "sandbox/lifecycle.h"

#define SANDBOX_ENVS_MAX (512 * 1024) /* sealed: 64 KiB in JSON, where a byte may take six */

/* An operation that this process works on. */
struct work {
    struct worker *worker;
    struct sandbox sandbox;
    struct operation operation;
    bool queued; /* the operation is left to the first dispatcher */
    /* Called inside the transaction of work_finish() that writes a move; may be NULL. */
    int (*settle)(struct db *db, void *context, struct error **err);
    void *settle_context;
    /* What its agent is told, where it is at hand; else it is read. */
    struct agent_told {
        bool known;
        const char *envs; /* borrowed; NULL: none */
        uint32_t log_kib;
    } told;
    struct runtime *runtime; /* of the sandbox's host, after work_open_runtime() */
    struct lease lease;
    int64_t answer_by_ms; /* monotonic: what the runtime is then still at is left to it; 0: never */
    struct deadline agent_until; /* of all waits for its agent; set by the first of them */
    int64_t started_ms;
    struct firewall *firewall; /* a call to it is in hand */
    struct firewall_size size; /* that the host gives the instance beside it; instance NULL: none */
    bool sized;                /* and has */
    enum { NETWORK_UNTOUCHED, NETWORK_APPLIED, NETWORK_FAILED } network; /* how the policy fared */
    char memory_lost[256]; /* why a move that was to keep memory did not; "": it did */
    bool in_transit;       /* a move pauses it, so no quota refuses the memory */
    const char *outcome;   /* "done", "failed" or "deferred"; static, NULL: none yet */
    bool policy_may_stand; /* its removal from the firewall was not confirmed */
};
void work_deinit(struct work *work);
static inline void work_autodeinit_(struct work *work)
{
    work_deinit(work);
}
#define work_auto __attribute__((cleanup(work_autodeinit_))) struct work

/* Begin an operation by an event: lock the row, check the move, write it. admit (may be NULL) runs
 * in the same transaction on the locked row before anything is written and may refuse. */
int work_begin(struct work *work, struct worker *worker, const char *sandbox_id,
               enum sandbox_event event, enum operation_kind kind,
               int (*admit)(struct db *db, struct sandbox *sandbox, void *context,
                            struct error **err),
               void *context, struct error **err);

/* The part of work_begin() behind the lock, for callers with a transaction of their own:
 * work->sandbox is locked and read. */
int work_begin_locked(struct work *work, struct db *db, enum sandbox_event event,
                      enum operation_kind kind, struct error **err);

/* Start the clock of the lease; done by work_begin(), needed after an own transaction. */
void work_start(struct work *work, struct worker *worker);

/* work->sandbox was read just now: what its row says of its host is what its host is found by, not
 * what this worker remembers. */
void work_note_host(struct work *work);

/* Before something is begun that a host must answer, which nobody waits for in vain. Errors: those
 * of runtimes_check(). */
int work_check_host(struct work *work, struct error **err);

/* Connect to the host; while the runtime waits, the lease is renewed. */
int work_open_runtime(struct work *work, struct error **err);

/* In the transaction that begins a resume: its volumes are its own from now on. One whose volumes
 * have gone to another host follows them first: ERR_NO_CAPACITY. */
int work_lock_volumes(struct db *db, const struct sandbox *sandbox, struct error **err);
#define SANDBOX_FOLLOW_RETRY_S 5

/* Before Incus acts by what it knows of the instance: its size and volumes, if it was not told yet
 * (sandbox_size.h). After work_open_runtime(). */
int work_tell_size(struct work *work, struct error **err);
/* Before it starts again: the volumes that it has, whatever Incus was told. A program of a version
 * before, which runs on while this one is installed, tells the size alone. */
int work_tell_volumes(struct work *work, struct error **err);

/* Before the instance of a sandbox with volumes starts, or gets them: changes of their files from
 * outside end here. Needs work_open_runtime(). */
int work_fence_volumes(struct work *work, struct error **err);

/* Before an act that would harm a sandbox that has gone on without us. Errors: ERR_LEASE_LOST. */
int work_still_ours(struct work *work, struct error **err);

/* The deadline of one wait for its agent: wait_ms from now, within the time that all such waits of
 * a piece of work may take together. */
struct deadline work_agent_deadline(struct work *work, unsigned wait_ms);

/* Where its agent is. Errors: those of runtimes_link(). */
int work_find_agent(struct work *work, struct agent_place *at, struct error **err);

/* Give the agent its secret and the sandbox's environment. */
int work_init_agent(struct work *work, unsigned wait_ms, struct error **err);

/* The environment of a sandbox, appended to envs, which the caller wipes; how many KiB of its
 * processes' output are kept. */
int sandbox_open_envs(struct worker *worker, const char *id, struct buffer *envs, uint32_t *log_kib,
                      struct error **err);

/* The same where the agent has come out of the memory of another instance. */
struct former_agent {
    const char *instance_name;
    uint16_t key_id;
};
int work_succeed_agent(struct work *work, const struct former_agent *former, unsigned wait_ms,
                       struct error **err);

/* The same for a sandbox that runs: an agent that its init had to start again has lost its secret,
 * one that has hung up takes requests again, and any other answers the same. */
void work_greet_agent(struct work *work);

/* Before a pause: cut off what clients have open. Failing does not matter: an agent that does not
 * answer serves no streams either. */
void work_hang_up(struct work *work);

/* Whether the agent is one that had its secret before, and so came back with its memory. */
int work_agent_continues(struct work *work, unsigned wait_ms, bool *continues, struct error **err);

/* Put the sandbox's policy into force: begin before something that takes long, end before anyone is
 * told. What fails is due for a dispatcher; until then the sandbox is closed. After
 * work_open_runtime(). */
void work_network_begin(struct work *work);
void work_network_end(struct work *work);
/* After begin, and before a start: also the end, where the firewall could not be told at once. So
 * what starts finds its network open but for the moment that a policy takes. */
void work_network_tell(struct work *work);

/* Both, before a stopped sandbox starts again. Errors: ERR_RUNTIME_UNAVAILABLE when the firewall
 * may still have an older policy for it, under which it must not start. */
int work_network_resume(struct work *work, struct error **err);

/* The same two steps for the removal of the policy of a sandbox that ends. */
void work_network_remove_begin(struct work *work);
void work_network_remove_end(struct work *work);
/* Its instance is gone: nothing of it must stand where the next one will be. */
void work_network_ended(struct work *work);

/* In the transaction that writes a result: what of it concerns the policy. */
int work_network_settle(const struct work *work, struct db *db, struct sandbox *row,
                        struct error **err);

/* The result: lock, check that the operation still is the sandbox's, write the new state. failure
 * NULL: done. work->sandbox is the row as written. Errors: ERR_LEASE_LOST. */
int work_finish(struct work *work, enum sandbox_event event, const char *failure,
                struct error **err);

/* Inside the transaction that has written the sandbox's new state: let its open usage interval
 * follow. */
int sandbox_usage_follow(struct db *db, const struct sandbox *sandbox, struct error **err);

/* What an event changes of a sandbox beside its state: deadline, reservation, times. */
void sandbox_apply_event(struct sandbox *sandbox, enum sandbox_event event);

/* The runtime or the database was away: leave the operation to the dispatcher, soon. */
void work_defer(struct work *work, const struct error *failure);

/* Make an inner error one of the interface; call it last, it may read the sandbox's row. */
int work_public_error(struct work *work, struct error **err);

/* Do what the operation says, from the runtime's side to its finish or deferral. */
int work_run_pause(struct work *work, struct error **err);
int work_run_resume(struct work *work, struct error **err);
int work_run_destroy(struct work *work, struct error **err);
int work_run_fork(struct work *work, struct error **err);
int work_run_move(struct work *work, struct error **err);

/* Begin to move one of the sandboxes of a host that is being emptied. *begun: there was one that
 * could. */
int work_begin_leaving(struct work *work, struct worker *worker, bool *begun, struct error **err);

/* Begin to move one that is stopped, for a caller that goes on with it; to_host 0: to any that has
 * room. note (may be NULL) is called inside the transaction and may refuse. */
int work_begin_move(struct work *work, struct worker *worker, const char *id, uint32_t to_host,
                    int (*note)(struct db *db, const char *id, struct error **err),
                    struct error **err);

/* Give up the checkpoint that the operation of a worker who is gone was to make. */
int work_undo_checkpoint(struct work *work, struct error **err);

/* After its removal has begun: from now on it reaches nothing and is reached by nobody, though it
 * may run on for a while. */
void work_cut_off(struct work *work);

/* Whether an operation failed because its host, another machine, could not be reached. */
bool work_lacks_host(struct work *work, const struct error *failure);

/* Begin and run the removal of a sandbox whose create did not work out; of one whose host could not
 * be reached only begin it. */
int work_undo_create(struct work *work, struct error **err);

/* Wait a moment for a move in flight. give_up_ms is monotonic. Returns -1 with ERR_SANDBOX_BUSY
 * in *err unchanged when the time is over, else clears *err. */
int wait_while_busy(int64_t give_up_ms, struct error **err);
