/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IPv4 addresses as numbers in host byte order. */
#pragma once

#include <stdint.h>

#define IPV4_TEXT_SIZE 16

/* Return the dotted form of an address. Returns out. */
const char *ipv4_format(uint32_t address, char out[IPV4_TEXT_SIZE]);
