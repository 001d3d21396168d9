/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/ipv4.h"

#include <stdio.h>

const char *ipv4_format(uint32_t address, char out[IPV4_TEXT_SIZE])
{
    snprintf(out, IPV4_TEXT_SIZE, "%u.%u.%u.%u", address >> 24, address >> 16 & 255,
             address >> 8 & 255, address & 255);
    return out;
}
