/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Failures in a sweep over the objects of all teams. A failed object, for example an instance that
 * its host cannot stop, must not end the sweep, because the objects after it would wait for ever.
 * A sweep over the objects of a host begins at another one each time. After SWEEP_FAILURES_MAX
 * failures it ends without an error:
 *
 *   for (size_t n = 0; n < count && failures < SWEEP_FAILURES_MAX; n++)
 *       if (handle(&list[(first + n) % count], err) < 0 && !sweep_passes_over(&failures, id, err))
 *           return -1;
 *
 * A sweep in an order that matters, for example by age, begins at the first object. An object that
 * fails rests: the next sweeps pass over it, for longer after each failure. So objects that fail
 * each time do not hide those behind them:
 *
 *   for (size_t i = 0; i < count && failures < SWEEP_FAILURES_MAX; i++)
 *       if (!sweep_rests(ids[i]) && handle(ids[i], err) < 0) {
 *           if (!sweep_passes_over(&failures, ids[i], err))
 *               return -1;
 *           sweep_rest(ids[i]);
 *       }
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define SWEEP_FAILURES_MAX 8

/* Choose the first of count objects at random; returns 0 if count is 0. */
size_t sweep_first(size_t count);

/* Log the failure of one object and clear it. id: of the object, for the log. *failures: of the
 * sweep. It grows by one, or to SWEEP_FAILURES_MAX if the host has not answered in time. If the
 * database or the host cannot be reached, return false and leave the error. */
bool sweep_passes_over(unsigned *failures, const char *id, struct error **err);

#define SWEEP_REST_FIRST_MS 10000
#define SWEEP_REST_MOST_MS  1800000

/* Let an object that failed rest in this process: for SWEEP_REST_FIRST_MS, twice as long after each
 * further failure, and SWEEP_REST_MOST_MS at most. The newest 512 are known. */
void sweep_rest(const char *id);

/* Return whether an object rests. */
bool sweep_rests(const char *id);
