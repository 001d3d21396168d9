/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the wrapper of ip reads of incusd's call and of ip's answers. */
#pragma once

#include <stdbool.h>

/* The address of `ip -4 route add table main ADDRESS dev LINK`; NULL: it is another call. */
const char *ip_added_address(int argc, char *const argv[]);

/* The link of the first route in `ip -4 -o route show`; the caller frees it. NULL: there is none.
 */
char *ip_link_of_route(const char *routes);

/* Whether both ends of a link are on this host, by `ip -o link show`: then it is of no sandbox. */
bool ip_is_stale(const char *answer, const char *link);
