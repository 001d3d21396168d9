/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read the calls that incusd makes to ip, and the answers of ip. */
#pragma once

#include <stdbool.h>

/* Return the address of `ip -4 route add table main ADDRESS dev LINK`. NULL: this is another
 * call. */
const char *ip_added_address(int argc, char *const argv[]);

/* Return the link of the first route in `ip -4 -o route show`; the caller frees it. NULL: there is
 * no route. */
char *ip_link_of_route(const char *routes);

/* Return whether both ends of a link are on this host, by `ip -o link show`. Such a link belongs to
 * no sandbox. */
bool ip_is_stale(const char *answer, const char *link);
