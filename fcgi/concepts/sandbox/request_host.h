/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the servers of a sandbox see as Host, when that is not the name of their preview: a host
 * name with or without a port, in which ${PORT} stands for the number of the port that is asked. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/sandbox.h"

bool request_host_is_valid(const char *text);

/* With the number filled in, for a port of that sandbox; "" when it has none. */
const char *request_host_of(const struct sandbox *sandbox, uint16_t port,
                            char text[SANDBOX_HOST_SIZE]);
