/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spread the instances evenly over the machine's processors.
 *
 * Each instance has as many processors as its weight is worth (base/sizing.h). After a control
 * group begins, ends or gets another weight, spread_run() checks all instances. It moves an
 * instance from a processor to one that fewer instances use. incusd would do this with calls to
 * each container. A library in incusd prevents this (helper/prepare/preload.c).
 */
#pragma once

#include "limits/group.h"

struct spread;

/* Watch the groups. The first spread_run() checks all instances. *spread is set after an error too;
 * the caller calls spread_close(). Errors: ERR_CONFIG. */
int spread_open(struct spread **spread, const struct groups *groups, struct error **err);
void spread_close(struct spread *spread); /* NULL is allowed */

/* Return the descriptor to poll for reading. */
int spread_fd(const struct spread *spread);
/* Note changes, when spread_fd() is readable. */
void spread_look(struct spread *spread);
/* Do the same, but ignore changes of weights, because the caller has made them by groups_weigh().
 */
void spread_pass_over_weights(struct spread *spread);
/* Return the time until the next spread_run() is due, in milliseconds, at most most_ms. -1: no
 * limit. */
int spread_wait_ms(const struct spread *spread, int most_ms);
/* Spread the instances if this is due: half a second after a change. Failures are logged. */
void spread_run(struct spread *spread, struct groups *groups);
