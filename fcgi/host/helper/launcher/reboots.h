/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limit the reboots of a guest.
 *
 * incusd starts a container again at each reboot, outside all limits of the sandbox. When reboots
 * follow each other within a minute, the third and later ones wait, each longer than the last. The
 * seventh stops the container. A file in the run folder has the number of reboots and the time of
 * the last one.
 */
#pragma once

/* Count or delay a reboot, before incusd gets the hook. folder: the container's run folder. hook:
 * "stopns" counts the reboot, "stop" waits. Sets LXC_TARGET to "stop" when the container must
 * stop. */
void reboots_limit(const char *folder, const char *hook);
