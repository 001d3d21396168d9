/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A setting that holds addresses and networks of IPv4 and IPv6 with commas between. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* Errors: ERR_CONFIG naming the setting and the entry that is none. */
int address_list_check(const char *setting, const char *list, struct error **err);

/* Whether the address is one of them, or in one of them. What is no address is in none. */
bool address_list_has(const char *list, const char *address);
