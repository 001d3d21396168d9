/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What nobody waits for begins on a host when its processors and disks are not wanted by others. */
#pragma once

#include <stdbool.h>

struct firewall;

/* Wait until half a processor has been idle for a moment. true: it was, or the host does not tell,
 * since it has no firewall (NULL), or one of a version before, or does not answer; false: not
 * within `most_ms`. */
bool host_wait_idle(struct firewall *firewall, unsigned most_ms);
