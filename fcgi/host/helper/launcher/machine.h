/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Handle forklimits [limit=memlock:SOFT:HARD]… [fd=NUMBER]… -- COMMAND…, by which incusd starts the
 * QEMU of a virtual machine. Set the limits, pass the descriptors on, and execute the command. This
 * program cannot execute incusd's own forklimits (cmd/incusd/main_forklimits.go). It runs under the
 * AppArmor profile of the virtual machine, which allows only QEMU.
 *
 * words: the arguments of the program, the command's name first. Returns the exit status of a
 * failure.
 */
int machine_start(char **words);
