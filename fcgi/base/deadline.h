/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When a request, a job or a step of one must have ended. It is made once, at the start, and each
 * function that waits for something outside this process takes it: so ten waits in a row do not
 * add up, whatever the other side does. All zeroes is a deadline that has passed, so that a
 * forgotten one fails in the first test instead of waiting for ever.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct deadline {
    int64_t at_ms; /* monotonic */
};

struct deadline deadline_in_ms(unsigned ms);

/* For one wait of a call: that many milliseconds from now, and not beyond the end of the whole. */
struct deadline deadline_within_ms(struct deadline whole, unsigned ms);

/* What is left; 0 when it has passed. */
unsigned deadline_left_ms(struct deadline deadline);

bool deadline_passed(struct deadline deadline);
