/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reboots of a guest. incusd starts one again each time, outside all limits of the sandbox: from
 * the third reboot with less than a minute between them each waits longer than the last one, and
 * instead of the seventh it is stopped. How many there were, and when the last one was, is in its
 * run folder.
 */
#pragma once

/* Before the hook that a container ends with is told to incusd. folder: the container's run folder.
 * hook: "stopns", at which the reboot is counted, or "stop", at which it is waited. LXC_TARGET
 * becomes "stop" where it is to be stopped. */
void reboots_limit(const char *folder, const char *hook);
