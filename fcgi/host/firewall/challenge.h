/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making the idle ends of a TCP connection speak, through a TUN device: the one way to send a
 * segment in another's name that needs no more than CAP_NET_ADMIN. */
#pragma once

#include "firewall/flows.h"

/* Open the device, or take the one that was handed down as the descriptor in the environment's
 * SANDLOT_TUN_FD (where /dev/net/tun is root's alone), and bring it up. Returns -1 after a warning
 * in the log when that is not possible. */
int challenge_open(const char *name);

/* Send a bare SYN to either end of the connection as if from the other. sandbox: address, host
 * byte order. */
void challenge_both_ends(int tun, uint32_t sandbox, const struct flow *flow);
