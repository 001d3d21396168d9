/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making port lists; for network/ only. */
#pragma once

#include "network/policy.h"

/* Bring ports into the form that is promised: by number, each once, only where the verdict is not
 * base. The same port must have the same verdict wherever it stands. */
void policy_ports_finish(enum policy_verdict base, struct policy_port **ports, size_t *count);
