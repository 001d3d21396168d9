/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find the process that listens on a TCP port of the sandbox. */
#pragma once

#include <stdint.h>

enum port_listener {
    PORT_NONE,
    PORT_LOOPBACK, /* reachable through the relay only */
    PORT_ANY,      /* reachable at the sandbox's own address */
};

/* Ask the kernel. Returns 0, or -1 with errno. */
int ports_listener(uint16_t port, enum port_listener *listener);
