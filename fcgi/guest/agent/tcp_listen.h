/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A port of the sandbox's loopback whose connections a client outside serves. Two kinds of
 * processes do this; both are started over the data plane:
 *
 *   sandlot-agent listen PORT
 *     listens on 127.0.0.1 and ::1 (0: a free port). It writes a line with the port and a name,
 * then one with address and port of the peer for each connection. It ends with its standard input,
 *     or when nothing was written there for some minutes.
 *   sandlot-agent accepted NAME
 *     takes the oldest of these connections and joins it with its standard streams
 *     (tcp_join_client()).
 *
 * So each connection has streams of its own, and one that is slow holds up no other. A process of
 * another user gets no connection.
 */
#pragma once

#include <stdint.h>

/* Run the program. Returns an exit status: 1 with a line on standard error. */
int tcp_listen_run(uint16_t port);
int tcp_accepted_run(const char *name);
