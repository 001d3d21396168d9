/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing sandbox rows; for the lifecycle only. Every function runs inside a transaction whose
 * caller holds the row's lock. */
#pragma once

#include "base/buffer.h"
#include "sandbox/sandbox.h"

/* The sandbox in the current row of a statement that selects SANDBOX_COLUMNS (sandbox_columns.h).
 */
void sandbox_row_read(const struct db_rows *rows, struct sandbox *sandbox);

/* The same of SANDBOX_OWN_COLUMNS, which begin at column first: without what is joined, which is
 * left empty. */
void sandbox_row_read_own(const struct db_rows *rows, unsigned first, struct sandbox *sandbox);

/* Write the metadata into the table that filters look into; a deleted sandbox has none there. */
int sandbox_row_index_metadata(struct db *db, const struct sandbox *sandbox, struct error **err);

/* What it takes is reserved in the same transaction (reservation.h). envs_sealed: empty stays NULL.
 * Indexes the metadata too. */
int sandbox_row_insert(struct db *db, const struct sandbox *sandbox,
                       const struct buffer *envs_sealed, struct error **err);

/* Write what a lifecycle move changes: state, visible, reserved, incarnation, operation_id,
 * deadline, timeout, resumed_from, silent_since, stopped_at, pause_failures, network_applied,
 * network_due_at, updated_at. The last is set here. What it takes no longer goes back to its team
 * and its host. */
int sandbox_row_update(struct db *db, struct sandbox *sandbox, struct error **err);

/* One that is stopped and does not go on by itself takes nothing any more. */
int sandbox_row_free_stopped(struct db *db, struct sandbox *sandbox, struct error **err);

/* Write what a PATCH changes beside that: metadata and its index, on_timeout, auto_resume,
 * on_pause_failure, public traffic. */
int sandbox_row_update_policy(struct db *db, const struct sandbox *sandbox, struct error **err);

/* Write which ports it exposes. */
int sandbox_row_update_ports(struct db *db, const struct sandbox *sandbox, struct error **err);

/* The end of a sandbox: its secrets leave the database. */
int sandbox_row_destroyed(struct db *db, const struct sandbox *sandbox, struct error **err);

/* What its agent is told: the sealed environment, appended to envs, nothing for a sandbox without
 * one, and how much output its team's plan keeps. */
int sandbox_row_agent(struct db *db, const char *id, struct buffer *envs, uint32_t *log_kib,
                      struct error **err);

/* The next sandbox whose deadline has passed, locked; id is "" when there is none. */
int sandbox_row_lock_due(struct db *db, char id[ID_SIZE], struct error **err);

/* The sandboxes that should be running on a host, with their instances. The caller frees. */
struct sandbox_ready {
    char id[ID_SIZE];
    char team_id[ID_SIZE];
    char instance_name[INSTANCE_NAME_SIZE];
    uint32_t incarnation;
    int64_t created_at_ms;
    uint32_t address; /* IPv4, host byte order */
    uint16_t agent_key_id;
    bool is_silent; /* as sandbox_note_silence() has written it */
};
int sandbox_row_ready_on_host(struct db *db, uint32_t host_id, struct sandbox_ready **list,
                              size_t *count, struct error **err);

/* The next sandboxes of a host by their ids that are not deleted, behind `after` ("": from the
 * first), at most limit. */
int sandbox_row_kept_on_host(struct db *db, uint32_t host_id, const char *after, unsigned limit,
                             char (*ids)[ID_SIZE], unsigned *count, struct error **err);

/* The next sandboxes that could move away from hosts that are being emptied, or to where their
 * volumes are, and whose last move did not fail since then; at most limit. */
int sandbox_row_leaving(struct db *db, int64_t failed_before_ms, unsigned limit,
                        char (*ids)[ID_SIZE], unsigned *count, struct error **err);

/* The same of those that run, on hosts where these are to move too. */
int sandbox_row_leaving_running(struct db *db, int64_t failed_before_ms, unsigned limit,
                                char (*ids)[ID_SIZE], unsigned *count, struct error **err);

/* Where its volumes are; of one that has none, where it is itself. */
int sandbox_row_volumes_host(struct db *db, const struct sandbox *sandbox, uint32_t *host_id,
                             struct error **err);

/* The first of its volumes by their ids, and where that is, as are the others; id "": it has none.
 */
int sandbox_row_first_volume(struct db *db, const struct sandbox *sandbox, char id[ID_SIZE],
                             uint32_t *host_id, struct error **err);

/* The sandbox that an instance of a host is of, also one that is on its way there, and its state;
 * id is "" when there is none that is not destroyed. host_id 0: on whichever host it is. */
int sandbox_row_of_instance(struct db *db, uint32_t host_id, const char *instance_name,
                            char id[ID_SIZE], enum sandbox_state *state, struct error **err);

/* It is on another host from now on, with its address. */
int sandbox_row_rehost(struct db *db, const struct sandbox *sandbox, uint32_t host_id,
                       struct error **err);
