/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * End connections from this machine to a sandbox, also while the sandbox itself does nothing. nginx
 * then answers a call that waits on one. Addresses are IPv4 in host byte order; *ended is the
 * number of connections. Errors: ERR_RUNTIME_REFUSED (the kernel refuses).
 */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* End the connections to the agent and to its relay. */
int calls_end(uint32_t address, unsigned *ended, struct error **err);

/* End the connections to one port, or, with port 0, to all ports but the agent's. Those to the
 * relay always end: it leads to any port. */
int previews_end(uint32_t address, uint16_t port, unsigned *ended, struct error **err);
