/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handle the pairs of interfaces that incusd creates for a container; one end moves into the
 * container. */
#pragma once

#include "helper/launcher/container_config.h"

/* Answer ARP on the host's end for the gateway's address only. Otherwise the host would answer for
 * all its addresses, and a sandbox could list them. */
void links_close(const struct container_config *config);

/* Delete the pairs that are on the host, with the routes to the container's addresses. The ends of
 * a running container are in its own namespace and are not found. */
void links_remove(const struct container_config *config);
