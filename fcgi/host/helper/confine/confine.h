/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Restrict this process and all its descendants to the system calls of the machine's native kind.
 *
 * Calls of other kinds (32-bit, x32) fail with ENOSYS. The policy that liblxc loads cannot express
 * this: it applies each rule to the native calls and to the related kinds alike. Neither filter
 * sets no_new_privs, so sudo works in the container. Root sets this filter, and it cannot be
 * removed.
 */
#pragma once

/* Set the filter. Returns 0, or -1 with errno. */
int confine_calls(void);
