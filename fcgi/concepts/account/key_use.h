/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The teams in which each key was used. An owner of a team sees another member's key only when the
 * key names the team or was used in it. */
#pragma once

#include "account/api_key.h"

/* Record that the principal's key was used in the team, at most once in ten minutes for each
 * process. A sign-in and the personal team need no row. A failure is logged. */
void key_use_note(struct db *db, const struct principal *principal, const char *team_id);
