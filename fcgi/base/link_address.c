/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/link_address.h"

#include <stdio.h>

const char *link_address(uint32_t address, char out[LINK_ADDRESS_SIZE])
{
    snprintf(out, LINK_ADDRESS_SIZE, "10:66:6a:%02x:%02x:%02x", address >> 16 & 0xff,
             address >> 8 & 0xff, address & 0xff);
    return out;
}
