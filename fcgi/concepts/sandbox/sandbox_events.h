/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Write events (event/event.h) about the moves and the near future of a sandbox. The
 * transaction of a change calls the function for its event. sandbox_tell_refused() and the
 * functions for the dispatcher are transactions of their own. */
#pragma once

#include "event/event.h"
#include "sandbox/sandbox.h"

/* Write the event of a new sandbox. */
int sandbox_tell_created(struct db *db, const struct sandbox *sandbox, struct error **err);

/* Write the event of a move of the state machine. sandbox: as written. memory: for a pause, whether
 * the memory is kept. */
int sandbox_tell_move(struct db *db, const struct sandbox *sandbox, enum sandbox_event move,
                      bool memory, struct error **err);

/* Write the event of a change of an existing sandbox. The members say which parts have changed. */
struct sandbox_changed {
    bool name, deadline, metadata, lifecycle, network, ports;
};
int sandbox_tell_updated(struct db *db, const struct sandbox *sandbox,
                         const struct sandbox_changed *changed, struct error **err);

/* Write the event of a failed operation: "create", "pause" or "resume". failure: as a client of the
 * call reads it. */
int sandbox_tell_failed(struct db *db, const struct sandbox *sandbox, const char *operation,
                        const struct error *failure, struct error **err);

/* Write an event when failure says that the team's quota refused the request, at most once a
 * minute. The call never fails: an error goes to the log. */
void sandbox_tell_refused(struct db *db, const char *team_id, const struct error *failure);

/* Announce that clean-up is going to delete a checkpoint, or the sandbox itself (checkpoint_id
 * NULL). */
int sandbox_tell_cleanup(struct db *db, const char *team_id, const char *sandbox_id,
                         const char *checkpoint_id, int64_t at_ms, struct error **err);

/* --- for the dispatcher --- */

/* Announce deadlines that come within near_ms; *more: there may be others. */
int sandbox_tell_deadlines(struct db *db, uint64_t near_ms, bool *more, struct error **err);

/* Announce teams that have used nine tenths of a quota, once an hour. */
int sandbox_tell_quotas(struct db *db, struct error **err);

/* Write an event about new denials, at most once a minute.
 *
 * total: connections and names that were denied to the sandbox so far. told: the number in its row,
 * up to which events were written. */
int sandbox_tell_denials(struct db *db, const char *team_id, const char *sandbox_id, uint64_t told,
                         uint64_t total, struct error **err);

/* Write an event that the kernel killed `count` processes of the sandbox because its memory was
 * full; at most once a minute. */
int sandbox_tell_out_of_memory(struct db *db, const char *team_id, const char *sandbox_id,
                               uint64_t count, struct error **err);

/* Record that its agent has not answered since since_ms, or (0) that it answers again, and write
 * the event. Does nothing for a run that has ended, or when this is recorded already. */
int sandbox_note_silence(struct db *db, const char *id, uint32_t incarnation, int64_t since_ms,
                         struct error **err);
