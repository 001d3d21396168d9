/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handle CRIU's hooks: in a restore from an image that may belong to another container, and in the
 * dump of a container that CRIU must not freeze. */
#pragma once

/* Handle a hook. action: from CRTOOLS_SCRIPT_ACTION. Returns the exit status of the program. */
int hooks_act(const char *action);
