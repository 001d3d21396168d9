/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules for a host's row; for host*.c and their tests. */
#pragma once

#include "host/host.h"

struct address_range {
    uint32_t first, last; /* the whole network, both ends included */
};

/* Parse "10.90.0.0/16": /16 to /29, no host bits. Returns 0 or -1. */
int address_range_parse(const char *text, struct address_range *range);

/* Parse the network of a whole deployment as address_range_parse() does, from /8. */
int address_network_parse(const char *text, struct address_range *range);

/* Return the addresses that instances may use: without the network's own address, the one after it
 * (often the host's) and the broadcast address. */
struct address_range address_range_usable(struct address_range range);

bool address_ranges_overlap(struct address_range a, struct address_range b);

/* Check that the values of a host are well formed. Errors: ERR_INVALID_REQUEST with the field. */
int host_check(const struct host *host, struct error **err);
