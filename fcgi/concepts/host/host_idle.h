/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wait for an idle moment on a host before work that no request waits for. */
#pragma once

#include <stdbool.h>

struct firewall;

/* Wait until half a processor has been idle for a moment. Returns false after most_ms. Also returns
 * true when the host cannot say: it has no firewall (NULL) or an older version, or does not
 * answer. */
bool host_wait_idle(struct firewall *firewall, unsigned most_ms);
