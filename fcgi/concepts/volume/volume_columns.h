/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared parts of the statements on volumes; for *_db.c files only. */
#pragma once

#include "volume/volume.h"

/* The columns that a statement selects for volume_row_read(), and the joined tables; conditions
 * name the volume v. */
#define VOLUME_COLUMNS                                                              \
    "v.id, v.team_id, t.slug, v.name, v.state, v.host_id, v.size_gb, v.generation," \
    " v.keeper_epoch, v.files_used_at_ms, v.created_at_ms"
#define VOLUME_JOINS " JOIN teams t ON t.id = v.team_id"

void volume_row_read(const struct db_rows *rows, struct volume *volume);
