/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The HTTP server: libmicrohttpd without threads, its epoll set nested in the agent's loop. */
#pragma once

#include <stdint.h>

struct agent;
struct server;
struct error;

/* Serve agent->routes on a listening socket, which is taken over. */
int server_start(struct agent *agent, int listen_fd, struct server **server, struct error **err);

/* End every connection but that of this request. Requests end as when their clients go away. */
struct request;
void server_hang_up(struct server *server, const struct request *request);

/* Run due timers; call it before each wait. Returns the longest wait in milliseconds, -1 for no
 * limit. */
int64_t server_run(struct server *server);
