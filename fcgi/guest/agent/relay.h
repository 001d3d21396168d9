/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The preview relay: lets a server in the sandbox that listens on 127.0.0.1 (or ::1) only be
 * reached from the edge. One connection is one request, whose head names the port; after that it
 * passes any bytes both ways (WebSocket included), until both sides are done.
 */
#pragma once

struct agent;
struct error;
struct relay;

/* Relay for a listening socket, which is taken over. */
int relay_start(struct agent *agent, int listen_fd, struct relay **relay, struct error **err);
