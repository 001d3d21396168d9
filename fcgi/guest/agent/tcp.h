/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `sandlot-agent tcp PORT`: a process of its own, started like any other over the data plane, which
 * connects its standard streams with a server on the sandbox's loopback. It first writes a zero
 * byte when the connection stands.
 */
#pragma once

#include <stdint.h>

/* The exit status: 1 with a line on standard error when nobody listens. */
int tcp_run(uint16_t port);

/* The same for a client, which may have said all that it has to say and wait for its answer: then
 * the number of bytes that it said is written to standard error, and the end is that of standard
 * input. fd stays the caller's. */
void tcp_join_client(int fd);
