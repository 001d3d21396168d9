/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read and write sandbox rows; for the lifecycle only. Functions that write a row run inside a
 * transaction whose caller holds the row's lock. */
#pragma once

#include "base/buffer.h"
#include "sandbox/sandbox.h"

/* Read the sandbox in the current row of a statement that selects SANDBOX_COLUMNS
 * (sandbox_columns.h). */
void sandbox_row_read(const struct db_rows *rows, struct sandbox *sandbox);

/* Read the sandbox from SANDBOX_OWN_COLUMNS, which begin at column first. Joined members stay
 * empty. */
void sandbox_row_read_own(const struct db_rows *rows, unsigned first, struct sandbox *sandbox);

/* Write the metadata into the table that filters search; a deleted sandbox has no entries there. */
int sandbox_row_index_metadata(struct db *db, const struct sandbox *sandbox, struct error **err);

/* Insert a sandbox and index its metadata. The same transaction reserves its shares
 * (reservation.h). envs_sealed: empty is stored as NULL. Errors: ERR_NAME_TAKEN ("/name"). */
int sandbox_row_insert(struct db *db, const struct sandbox *sandbox,
                       const struct buffer *envs_sealed, struct error **err);

/* Write the columns that a lifecycle move changes: state, visible, reserved, incarnation,
 * operation_id, deadline, timeout, hold_until, moved_by, stop_reason, resumed_from, silent_since,
 * stopped_at, pause_failures, network_applied, network_due_at, updated_at. Sets updated_at. Returns
 * to team and host the shares that the sandbox no longer needs. */
int sandbox_row_update(struct db *db, struct sandbox *sandbox, struct error **err);

/* Return all shares of a sandbox that is stopped and does not resume by itself. */
int sandbox_row_free_stopped(struct db *db, struct sandbox *sandbox, struct error **err);

/* Write the other columns that a PATCH changes: name, metadata without its index, on_timeout,
 * auto_resume, on_pause_failure, idle_timeout, idle_connections, public traffic. Errors:
 * ERR_NAME_TAKEN ("/name"). */
int sandbox_row_update_policy(struct db *db, const struct sandbox *sandbox, struct error **err);

/* Note that the resume on which this worker works started from the disk in place of the memory.
 * Needs no transaction; it has no effect when the row has another operation. */
int sandbox_row_leave_memory(struct db *db, const struct sandbox *sandbox, struct error **err);

/* Write the exposed ports. */
int sandbox_row_update_ports(struct db *db, const struct sandbox *sandbox, struct error **err);

/* Delete the sandbox's secrets from the database, at its end. */
int sandbox_row_destroyed(struct db *db, const struct sandbox *sandbox, struct error **err);

/* Read the values for its agent. Append the sealed environment to envs, if the sandbox has one.
 * Return how much output the team's plan keeps. */
int sandbox_row_agent(struct db *db, const char *id, struct buffer *envs, uint32_t *log_kib,
                      struct error **err);

/* Lock the next sandbox whose deadline has passed; id is "" when no deadline has. */
int sandbox_row_lock_due(struct db *db, char id[ID_SIZE], struct error **err);

/* List the sandboxes that should be running on a host, with their instances. The caller frees. */
struct sandbox_ready {
    char id[ID_SIZE];
    char team_id[ID_SIZE];
    char created_by[ID_SIZE];
    char instance_name[INSTANCE_NAME_SIZE];
    uint32_t incarnation;
    int64_t created_at_ms;
    uint32_t address; /* IPv4, host byte order */
    uint16_t agent_key_id;
    bool is_silent;          /* as sandbox_note_silence() has written it */
    uint32_t idle_timeout_s; /* 0: idleness does not pause it */
    bool ignores_connections;
    int64_t hold_until_ms;
    uint32_t pause_failures;
};
int sandbox_row_ready_on_host(struct db *db, uint32_t host_id, struct sandbox_ready **list,
                              size_t *count, struct error **err);

/* List a host's sandboxes by id that are not deleted, from the one after `after` ("": from the
 * first), at most limit. */
int sandbox_row_kept_on_host(struct db *db, uint32_t host_id, const char *after, unsigned limit,
                             char (*ids)[ID_SIZE], unsigned *count, struct error **err);

/* List sandboxes that could move away from hosts that are being drained, or to the host of their
 * volumes. Those whose last move failed after failed_before_ms are left out. At most limit. */
int sandbox_row_leaving(struct db *db, int64_t failed_before_ms, unsigned limit,
                        char (*ids)[ID_SIZE], unsigned *count, struct error **err);

/* List such sandboxes that run, on hosts whose running sandboxes are to move too. */
int sandbox_row_leaving_running(struct db *db, int64_t failed_before_ms, unsigned limit,
                                char (*ids)[ID_SIZE], unsigned *count, struct error **err);

/* Find the host of its volumes; without volumes, the sandbox's own host. */
int sandbox_row_volumes_host(struct db *db, const struct sandbox *sandbox, uint32_t *host_id,
                             struct error **err);

/* Find the first of its volumes by id, and its host, which all its volumes share. id "": no
 * volumes. */
int sandbox_row_first_volume(struct db *db, const struct sandbox *sandbox, char id[ID_SIZE],
                             uint32_t *host_id, struct error **err);

/* Find the sandbox, and its state, of an instance on a host, or of an instance that moves to the
 * host. If no such sandbox exists, or it is destroyed, id is "".
 *
 * host_id 0: on any host. */
int sandbox_row_of_instance(struct db *db, uint32_t host_id, const char *instance_name,
                            char id[ID_SIZE], enum sandbox_state *state, struct error **err);

/* Write the other host, which the sandbox has from now on, and its address there. */
int sandbox_row_rehost(struct db *db, const struct sandbox *sandbox, uint32_t host_id,
                       struct error **err);
