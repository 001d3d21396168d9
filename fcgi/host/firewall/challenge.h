/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Make idle ends of a TCP connection send a segment, through a TUN device. With CAP_NET_ADMIN
 * alone, there is no other way to send a segment with another sender's address. */
#pragma once

#include "firewall/flows.h"

/* Open the device and bring it up. SANDLOT_TUN_FD in the environment can be an inherited
 * descriptor, if only root may open /dev/net/tun. Returns -1, after a warning in the log, on
 * failure. */
int challenge_open(const char *name);

/* Send a SYN to each end of a connection, with the other end as the sender. sandbox: address, host
 * byte order. */
void challenge_both_ends(int tun, uint32_t sandbox, const struct flow *flow);
