/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Find out whether a host answers, and record it in the host's row.
 *
 * Incus alone may be down, for example during its upgrade. Then the running sandboxes are reachable
 * as before, but no operation can start. When the relay does not answer either, no sandbox there is
 * reachable. A host without a relay is never recorded as down, because only its Incus is asked.
 */
#pragma once

#include <stdbool.h>

#include "worker/worker.h"

struct host_pulse;

/* Start in doubt, until questions have shown the state of the host. worker is borrowed. */
struct host_pulse *host_pulse_new(struct worker *worker, uint32_t host_id);
void host_pulse_free(struct host_pulse *pulse);

/* Note that a call to the host's Incus has succeeded or failed, for any reason. */
void host_pulse_note(struct host_pulse *pulse, bool answered);

/* Return whether other calls must wait for more questions to the host. */
bool host_pulse_is_in_doubt(const struct host_pulse *pulse);

/* Ask the host, for two seconds at most, and record the result. runtime NULL: it could not be
 * opened. *back: the host answers again. */
void host_pulse_look(struct host_pulse *pulse, struct runtime *runtime, bool *back);
