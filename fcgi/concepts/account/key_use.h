/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In which teams a key was used. Owners of a team see the keys of other members only when the key
 * names the team or was used in it. */
#pragma once

#include "account/api_key.h"

/* Write down that the principal's key was used in the team, at most once in ten minutes for each
 * process. A sign-in and the personal team need no row. A failure is logged. */
void key_use_note(struct db *db, const struct principal *principal, const char *team_id);
