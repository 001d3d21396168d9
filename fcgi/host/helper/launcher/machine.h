/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Handle forklimits [limit=memlock:SOFT:HARD]… [fd=NUMBER]… -- COMMAND…, by which incusd starts the
 * QEMU of a virtual machine: set the limits, pass the descriptors on, and become the command.
 * incusd's own command cannot be passed on to: this program runs under the AppArmor profile of the
 * virtual machine, which lets it become QEMU and nothing else. (cmd/incusd/main_forklimits.go)
 *
 * words: the arguments of the program, the command's name first. Returns the exit status of a
 * failure.
 */
int machine_start(char **words);
