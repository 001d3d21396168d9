/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leave this process and all its descendants the system calls of the machine's own kind only; those
 * of another (32-bit, x32) are "not there". The policy that liblxc loads cannot say this: it takes
 * each rule for the machine's own calls and those of its relatives alike. Neither filter sets
 * no_new_privs, so sudo works in the container; root sets this one, and it cannot be taken off.
 */
#pragma once

/* Returns 0, or -1 with errno. */
int confine_calls(void);
