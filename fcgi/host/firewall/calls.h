/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections from this machine to the agent of a sandbox. They can be ended here while the agent
 * itself does nothing: a call that waits on one is answered by nginx then.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* End those to the agent at that address (IPv4, host byte order) and to its relay. *ended: how
 * many there were. Errors: ERR_RUNTIME_REFUSED (the kernel does not do it). */
int calls_end(uint32_t address, unsigned *ended, struct error **err);
