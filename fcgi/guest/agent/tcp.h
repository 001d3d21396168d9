/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `sandlot-agent tcp PORT`: a process that is started over the data plane. It connects its standard
 * streams with a server on the sandbox's loopback. When the connection stands, it first writes a
 * zero byte.
 */
#pragma once

#include <stdint.h>

/* Connect the standard streams. Returns the exit status: 1 with a line on standard error when no
 * server listens. */
int tcp_run(uint16_t port);

/* Connect to a server on the sandbox's loopback. Returns the socket, or -1 with errno. */
int tcp_connect(uint16_t port);

/* Connect the standard streams with a client. A client may end its side and wait for an answer.
 * Then the program writes the number of its bytes to standard error. The end of standard input ends
 * the connection. fd stays the caller's. */
void tcp_join_client(int fd);
