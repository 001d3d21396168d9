/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is told (event/event.h) of the moves of a sandbox, and of what lies ahead of it. Everything
 * but sandbox_tell_refused() belongs into the transaction of the change. */
#pragma once

#include "event/event.h"
#include "sandbox/sandbox.h"

/* A new row. */
int sandbox_tell_created(struct db *db, const struct sandbox *sandbox, struct error **err);

/* Of a move of the state machine; sandbox: as written. memory: of a pause, whether it is kept. */
int sandbox_tell_move(struct db *db, const struct sandbox *sandbox, enum sandbox_event move,
                      bool memory, struct error **err);

/* What was set anew of one that is there. deadline: it has another one. */
struct sandbox_changed {
    bool deadline, metadata, lifecycle, network, ports;
};
int sandbox_tell_updated(struct db *db, const struct sandbox *sandbox,
                         const struct sandbox_changed *changed, struct error **err);

/* What did not work out: "create", "pause" or "resume". */
int sandbox_tell_failed(struct db *db, const struct sandbox *sandbox, const char *operation,
                        struct error **err);

/* When failure says that the quota of the team did not allow it; told once a minute. Never fails:
 * what is not told goes to the log. */
void sandbox_tell_refused(struct db *db, const char *team_id, const struct error *failure);

/* The clean-up is going to remove it. checkpoint_id: NULL when that is the sandbox itself. */
int sandbox_tell_cleanup(struct db *db, const char *team_id, const char *sandbox_id,
                         const char *checkpoint_id, int64_t at_ms, struct error **err);

/* --- for the dispatcher --- */

/* Announce deadlines that come within near_ms; *more: there may be others. */
int sandbox_tell_deadlines(struct db *db, uint64_t near_ms, bool *more, struct error **err);

/* Announce teams that have used nine tenths of a quota, once an hour. */
int sandbox_tell_quotas(struct db *db, struct error **err);

/* A sandbox has been denied `total` connections and names so far, and `told` is what its row says:
 * tell of the difference, at most once a minute. */
int sandbox_tell_denials(struct db *db, const char *team_id, const char *sandbox_id, uint64_t told,
                         uint64_t total, struct error **err);

/* The kernel killed so many processes of it for want of memory; told at most once a minute. */
int sandbox_tell_out_of_memory(struct db *db, const char *team_id, const char *sandbox_id,
                               uint64_t count, struct error **err);

/* Its agent has not answered since that time, or (0) answers again. Nothing is told of a run that
 * has ended, nor what has been told before. A transaction of its own. */
int sandbox_note_silence(struct db *db, const char *id, uint32_t incarnation, int64_t since_ms,
                         struct error **err);
