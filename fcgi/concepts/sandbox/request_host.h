/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Host header that a sandbox's servers get instead of the name of their preview. It is a host
 * name with or without a port; ${PORT} in it stands for the number of the requested port. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/sandbox.h"

bool request_host_is_valid(const char *text);

/* Return the Host for a port of the sandbox, with the number filled in; "" when the sandbox has no
 * such setting. */
const char *request_host_of(const struct sandbox *sandbox, uint16_t port,
                            char text[SANDBOX_HOST_SIZE]);
