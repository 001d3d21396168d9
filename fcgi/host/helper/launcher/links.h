/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interfaces that incusd makes for a container, on the host: pairs, of which one end becomes
 * the container's. */
#pragma once

#include "helper/launcher/container_config.h"

/* A host answers ARP for all its addresses on every link, so that a sandbox could ask which it has.
 * On the hosts' ends it is to answer for the gateway's alone. */
void links_close(const struct container_config *config);

/* Remove those that are on the host, with the routes to the container's addresses. While it runs
 * they are in its own namespace, where this finds none of them. */
void links_remove(const struct container_config *config);
