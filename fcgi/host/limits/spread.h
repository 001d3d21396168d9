/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spread the instances evenly over the machine's processors.
 *
 * Each instance has as many processors as its weight is worth (base/sizing.h). Whenever a control
 * group begins or ends, or gets another weight, the instances are looked at a moment later. An
 * instance moves from a processor to one that fewer instances use. incusd would do this with calls
 * to each container. A library in incusd prevents this (helper/prepare/preload.c).
 */
#pragma once

#include "limits/group.h"

struct spread;

/* Watch the groups. The first spread_run() looks at all. Errors: ERR_CONFIG. */
int spread_open(struct spread **spread, const struct groups *groups, struct error **err);
void spread_close(struct spread *spread); /* NULL is allowed */

/* Return the descriptor to poll for reading. */
int spread_fd(const struct spread *spread);
/* Note changes, when spread_fd() is readable. */
void spread_look(struct spread *spread);
/* Do the same, but pass over changes of weights: the caller has made them, and they are no
 * sizes. */
void spread_pass_over_weights(struct spread *spread);
/* Return how long to wait for the next spread_run(), at most most_ms; -1: without end. */
int spread_wait_ms(const struct spread *spread, int most_ms);
/* Spread the instances, if it is due. */
void spread_run(struct spread *spread, struct groups *groups);
