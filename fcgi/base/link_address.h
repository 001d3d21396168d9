/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Ethernet address of a sandbox follows from its IPv4 address. So no host ever sees two
 * sandboxes with one address of either kind, and a kept neighbour entry is right. The packet filter
 * knows which address belongs to which. */
#pragma once

#include <stdint.h>

#define LINK_ADDRESS_SIZE 18 /* text with its NUL */

/* Write the Ethernet address for an IPv4 address (host byte order) in a range of at most 24 bits.
 * It is in the block that Incus uses for its own interfaces. Returns out. */
const char *link_address(uint32_t address, char out[LINK_ADDRESS_SIZE]);
