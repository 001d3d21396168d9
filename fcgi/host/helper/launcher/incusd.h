/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon whose helper commands come by here, and its program. */
#pragma once

/* Its program: what SANDLOT_INCUSD names, or where packages have it. */
const char *incusd_program(void);

/* The liblxc that the running daemon has loaded: the monitor of a container must be of the same, as
 * they speak with each other by it. NULL: it has none, or one that was replaced since. The caller
 * frees it. */
char *incusd_library(void);

/* Have CRIU found as the daemon finds it, which keeps its environment from a start. */
void incusd_lend_environment(void);
