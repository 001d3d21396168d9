/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processors that are kept as they were given. Whenever an instance starts, stops or changes,
 * incusd hands the machine's processors out again to all of them, each as many as it knows of. What
 * it writes for one that it was not told of yet is written over at once; with the first set of the
 * given number it has been told, and the instance is let go.
 */
#pragma once

#include "limits/cpus.h"

struct hold;

/* Errors: ERR_CONFIG. */
int hold_open(struct hold **hold, struct error **err);
void hold_close(struct hold *hold);

/* Keep a group's cpuset.cpus at that set, from the first write of another one on. Errors:
 * ERR_RUNTIME_REFUSED. */
int hold_add(struct hold *hold, int group, const struct cpus *cpus, struct error **err);

/* What to wait for, for reading. */
int hold_fd(const struct hold *hold);
/* Something was written. */
void hold_look(struct hold *hold);
/* Look at each, and let go of instances that are gone: now and then. */
void hold_sweep(struct hold *hold);
/* How many there are. */
unsigned hold_count(const struct hold *hold);
