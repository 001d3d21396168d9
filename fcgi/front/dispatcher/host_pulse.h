/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a host answers, and what its row says of that. Its Incus alone may be away, while it is
 * upgraded for instance; then what runs there is reached as before, and nothing can be begun. When
 * its relay does not answer either, nothing there is reached. A host without a relay is never said
 * to be down, because nobody asks it for more than its Incus.
 */
#pragma once

#include <stdbool.h>

#include "worker/worker.h"

struct host_pulse;

struct host_pulse *host_pulse_new(struct worker *worker, uint32_t host_id);
void host_pulse_free(struct host_pulse *pulse);

/* A call to its Incus has just succeeded, or failed for whatever reason. */
void host_pulse_note(struct host_pulse *pulse, bool answered);

/* Whether other calls are to wait until looks have found out more. */
bool host_pulse_is_in_doubt(const struct host_pulse *pulse);

/* Ask it, which takes two seconds at most, and write what follows; NULL runtime: it could not even
 * be opened. *back: it is said to answer again. */
void host_pulse_look(struct host_pulse *pulse, struct runtime *runtime, bool *back);
