/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time at which a request, a job or a step must end. Create it once, at the start. Pass it to
 * each function that waits for something outside this process. Ten waits in a row then take no
 * longer than one. A zeroed deadline has passed, so that a forgotten one fails in the first test.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct deadline {
    int64_t at_ms; /* monotonic */
};

/* Create a deadline that many milliseconds from now. */
struct deadline deadline_in_ms(unsigned ms);

/* Create the deadline of one wait: that many milliseconds from now, and never after whole. */
struct deadline deadline_within_ms(struct deadline whole, unsigned ms);

/* Return the milliseconds that are left; 0 after the deadline. */
unsigned deadline_left_ms(struct deadline deadline);

/* Return whether the deadline has passed. */
bool deadline_passed(struct deadline deadline);
