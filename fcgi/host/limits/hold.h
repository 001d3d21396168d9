/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keep the processors of instances until Incus has their new number.
 *
 * Whenever an instance starts, stops or changes, incusd distributes the machine's processors to all
 * instances. It gives each instance the number that Incus has. Until Incus has the new number of an
 * instance, this program writes its processors again after each such change. The first set with the
 * new number shows that Incus has the number. The instance is then no longer watched.
 */
#pragma once

#include "limits/cpus.h"

struct hold;

/* Open an empty list. Errors: ERR_CONFIG. */
int hold_open(struct hold **hold, struct error **err);
void hold_close(struct hold *hold);

/* Start to keep a group's cpuset.cpus at this set. The caller writes the first value. Errors:
 * ERR_RUNTIME_REFUSED. */
int hold_add(struct hold *hold, int group, const struct cpus *cpus, struct error **err);

/* Return the descriptor to poll for reading. */
int hold_fd(const struct hold *hold);
/* Handle changes, when hold_fd() is readable. */
void hold_look(struct hold *hold);
/* Check each instance, and drop those that have ended. Call this now and then. */
void hold_sweep(struct hold *hold);
/* Return the number of watched instances. */
unsigned hold_count(const struct hold *hold);
