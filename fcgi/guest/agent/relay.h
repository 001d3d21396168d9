/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The preview relay, by which the edge reaches servers in the sandbox, also those that listen on
 * 127.0.0.1 (or ::1) only. One connection is one request, whose head names the port. nginx takes
 * any bytes for an answer, and an interim answer for the last one. So the relay drops interim
 * answers, and ends the connection of a server that does not speak HTTP. After that it passes any
 * bytes both ways (WebSocket included), until both sides are done.
 */
#pragma once

struct agent;
struct error;
struct relay;

/* Relay for a listening socket, which is taken over. */
int relay_start(struct agent *agent, int listen_fd, struct relay **relay, struct error **err);
