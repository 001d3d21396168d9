/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Remember failed starts of warm instances, in one process. A team decides whether an instance of
 * its own template starts. One process makes the warm instances of all teams, so a version that
 * failed rests, and so do the other versions of its team, for a time that grows with the duration
 * of the failed start. A team has a few notes only: its next failure replaces its own oldest note,
 * and never one of a team with fewer notes.
 */
#pragma once

#include <stdint.h>

#include "template/warm_plan.h"

#define WARM_REST_VERSION_MS (10 * 60 * 1000)
#define WARM_REST_OWNER      8 /* as many times the duration of the failed start */

/* Note a start that failed because of the template. */
void warm_rest_note(const struct warm_want *want, int64_t took_ms, int64_t now_ms);

/* Return whether no instance of the want is to be started now. */
bool warm_rests(const struct warm_want *want, int64_t now_ms);
