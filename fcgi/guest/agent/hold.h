/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `sandlot-agent hold COMMAND [ARGUMENT…]`: a process of the sandbox's user, which keeps the
 * sandbox awake while the command runs. It becomes the command, and leaves a process behind that
 * renews a short hold (POST /hold) until the command ends, for a week at most. The last hold ends
 * by itself.
 */
#pragma once

/* Run a command under a hold. command: ends with NULL. Returns the exit status, with a line on
 * standard error: the command does not run. */
int hold_run(char *const command[]);
