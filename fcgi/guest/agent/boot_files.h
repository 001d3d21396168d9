/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remove the files that a boot removes, for a sandbox that starts again from its disk. */
#pragma once

#include <stdbool.h>

/* Return whether the sandbox has just booted: besides its init and the agent with its guard nothing
 * runs. An agent that is started again later finds other processes. */
bool boot_is_fresh(void);

/* Empty /tmp, and remove files, sockets and pipes below /run. Its directories stay, because
 * packages create them only once. The agent's own files stay too. A file that cannot be removed
 * stays. */
void boot_clean(void);
