/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A setting with addresses and networks of IPv4 and IPv6, separated by commas. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* Check the list. Errors: ERR_CONFIG naming the setting and the wrong entry. */
int address_list_check(const char *setting, const char *list, struct error **err);

/* Return whether the list has the address, or a network that contains it. False for text that is
 * not an address. */
bool address_list_has(const char *list, const char *address);
