/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The output of a paused sandbox's processes. It is in the sandbox's memory, which cannot be read
 * before the sandbox runs again. So the worker asks the agent for the newest output before a pause.
 * The database keeps it encrypted until the sandbox runs again or ends.
 *
 * One log is at most one answer of an agent and KEPT_LOG_MAX bytes. When the logs of a team have
 * more than KEPT_LOGS_OF_TEAM_MAX bytes, the oldest ones are deleted.
 */
#pragma once

#include <jansson.h>

#include "base/buffer.h"
#include "sandbox/sandbox.h"
#include "worker/worker.h"

struct work;

#define KEPT_LOG_MAX          ((size_t)256 << 10)  /* bytes of JSON */
#define KEPT_LOGS_OF_TEAM_MAX ((uint64_t)64 << 20) /* bytes, sealed */

/* Fetch and store the output; call it before a pause stops the instance. If the agent does not
 * answer soon, nothing is kept, the failure is logged, and the pause continues. */
void kept_log_take(struct work *work);

/* Read the entries of a paused sandbox, newest first. They come from the sandbox's agent, which
 * the owner of the sandbox can replace. *entries: a new reference to an array. Errors:
 * ERR_NOT_FOUND (no log is kept). */
int kept_log_read(struct worker *worker, const char *sandbox_id, json_t **entries,
                  struct error **err);

/* Inside a transaction: delete the log, because the sandbox runs again or has ended. */
int kept_log_drop(struct db *db, const char *sandbox_id, struct error **err);

/* --- rows; for kept_log.c --- */

/* Store a log, but only while the pause of this incarnation runs. */
int kept_log_insert(struct db *db, const struct sandbox *sandbox, const struct buffer *sealed,
                    struct error **err);

/* Delete the team's oldest logs until the rest has at most `most` bytes. One call deletes a limited
 * number. */
int kept_log_trim(struct db *db, const char *team_id, uint64_t most, struct error **err);

/* Append the sealed bytes of a log; nothing when there is no row. */
int kept_log_get(struct db *db, const char *sandbox_id, struct buffer *sealed, struct error **err);
