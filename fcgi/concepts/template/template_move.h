/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source of a template version is copied to a host that takes sandboxes: when the only ones
 * that have it are being emptied, or have no room for a create. What is there of it stays.
 */
#pragma once

#include "moving/moving.h"

extern const struct mover template_mover;

/* Begin to copy one that only hosts have which are being emptied; *begun: there was one that
 * could be. */
int template_move_leaving(struct worker *worker, bool *begun, struct error **err);

/* The hosts that have it are full: have it copied to one with room for a sandbox of this size, and
 * wait until it is there, at most until give_up_ms (monotonic). *copied: it is. */
int template_copy_for_room(struct worker *worker, const char *version_id,
                           const struct runtime_resources *resources, int64_t give_up_ms,
                           bool *copied, struct error **err);

extern const struct db_statement_list template_move_statements;
