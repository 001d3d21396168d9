/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Delete pairs of interfaces that a killed incusd has left. */
#pragma once

/* Find a link that belongs to no sandbox in a line of `ip -o link show type veth`. Its name begins
 * with the prefix, and its other end is on the host too. The caller frees the name. NULL: the line
 * has none. */
char *stale_link_in(const char *line, const char *prefix);

/* Delete all such links: they hold the routes to addresses. */
void stale_links_remove(const char *prefix);
