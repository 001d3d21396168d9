/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the processes of a stopped sandbox had written. All of it is in its memory, which cannot be
 * read before the sandbox runs again, so the newest is asked of its agent before a pause and kept
 * sealed in the database until the sandbox runs again or ends. It is one answer of an agent at
 * most, and KEPT_LOG_MAX bytes; of a team's, the oldest make room when they are more than
 * KEPT_LOGS_OF_TEAM_MAX.
 */
#pragma once

#include <jansson.h>

#include "base/buffer.h"
#include "sandbox/sandbox.h"
#include "worker/worker.h"

struct work;

#define KEPT_LOG_MAX          ((size_t)256 << 10)  /* bytes of JSON */
#define KEPT_LOGS_OF_TEAM_MAX ((uint64_t)64 << 20) /* bytes, sealed */

/* Before the instance of a pause is stopped. An agent that does not answer soon has nothing kept:
 * that is in the log and keeps no pause from being made. */
void kept_log_take(struct work *work);

/* The entries of one that is stopped, newest first, as its agent has made them, which the owner of
 * a sandbox can replace. *entries: a new reference to an array. Errors: ERR_NOT_FOUND when nothing
 * is kept. */
int kept_log_read(struct worker *worker, const char *sandbox_id, json_t **entries,
                  struct error **err);

/* Inside a transaction: it runs again, or is no more. */
int kept_log_drop(struct db *db, const char *sandbox_id, struct error **err);

/* --- rows; for kept_log.c --- */

/* Written while the pause of that incarnation is under way only. */
int kept_log_insert(struct db *db, const struct sandbox *sandbox, const struct buffer *sealed,
                    struct error **err);

/* Remove the oldest of a team until they are no more than most bytes, some at a time. */
int kept_log_trim(struct db *db, const char *team_id, uint64_t most, struct error **err);

/* The sealed bytes, appended; nothing when there is no row. */
int kept_log_get(struct db *db, const char *sandbox_id, struct buffer *sealed, struct error **err);
