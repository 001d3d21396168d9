/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The work of the host for a container that the agent does in a virtual machine. */
#pragma once

#include "base/error.h"

struct loop;

/* Send SIGPWR to the first process when the machine's power button is pressed: so a host asks a
 * machine to stop. Errors: ERR_INTERNAL. */
int machine_watch_power(struct loop *loop, struct error **err);

/* Set the clock, if it is not right. A machine that continues from its memory has the time of its
 * pause. now: the milliseconds since 1970, as text from the control plane; may be NULL. */
void machine_set_clock(const char *now);
