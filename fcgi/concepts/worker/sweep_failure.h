/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Failures in a sweep over the objects of all teams. An object that cannot be handled, for example
 * an instance that its host cannot stop, must not end the sweep: the objects behind it would never
 * be handled. A sweep over objects of a host begins at another one each time, and ends early, but
 * without an error, after SWEEP_FAILURES_MAX failures:
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

/* Choose the first of some objects by chance; 0: there are none. */
size_t sweep_first(size_t count);

/* Log the failure of one object and clear it. id: of the object, for the log. *failures: of the
 * sweep. It grows by one, or to SWEEP_FAILURES_MAX when the host has not answered in time. Returns
 * false, with the error, when the database or the host cannot be reached. */
bool sweep_passes_over(unsigned *failures, const char *id, struct error **err);
