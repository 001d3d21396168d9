/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of ports; for network/ only. */
#pragma once

#include "network/policy.h"

/* Bring ports into the form that policy.h promises: by number, each once, only where the verdict is
 * not base. Two entries of the same port must have the same verdict. */
void policy_ports_finish(enum policy_verdict base, struct policy_port **ports, size_t *count);
