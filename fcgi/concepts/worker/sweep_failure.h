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
