/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find the program, liblxc and environment of the incusd that has called this helper. */
#pragma once

/* Return the path in SANDLOT_INCUSD, or of the packages. */
const char *incusd_program(void);

/* Return the liblxc that the running incusd has loaded. Both ends of a monitor's protocol must use
 * the same version. NULL: not found, or replaced since. The caller frees it. */
char *incusd_library(void);

/* Copy the settings for CRIU from incusd's environment, which incusd does not pass to a start. */
void incusd_lend_environment(void);
