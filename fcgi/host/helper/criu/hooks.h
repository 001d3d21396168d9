/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handle CRIU's hooks in two cases. (1) A restore from an image that may belong to another
 * container. (2) The dump of a container that CRIU must not freeze. */
#pragma once

/* Handle a hook. action: from CRTOOLS_SCRIPT_ACTION. Returns the exit status of the program. */
int hooks_act(const char *action);
