/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pairs of interfaces that an incusd which was killed has left. */
#pragma once

/* The link in a line of `ip -o link show type veth` that is of no sandbox: its name begins with the
 * prefix, and its other end is on the host too. The caller frees it. NULL: there is none. */
char *stale_link_in(const char *line, const char *prefix);

/* Delete all of them, as they hold the routes to addresses. */
void stale_links_remove(const char *prefix);
