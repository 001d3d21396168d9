/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The HTTP server: libmicrohttpd without threads, its epoll set nested in the agent's loop. */
#pragma once

#include <stdint.h>

struct agent;
struct server;
struct error;

/* Serve on a listening socket, which is taken over. */
int server_start(struct agent *agent, int listen_fd, struct server **server, struct error **err);

/* End every connection but that of this request. Requests end as when their clients go away. */
struct request;
void server_hang_up(struct server *server, const struct request *request);

/* The peer of this request has sent its last byte. The library waits for changes of sockets, takes
 * a short read for all that there is, and so misses an end that came together with the last bytes:
 * make it read once more, after it has read what it knows of. To be called again when that brought
 * more. */
void server_nudge(struct server *server, struct request *request);

/* Do what is due; to be called before each wait. Returns how long the wait may be, in
 * milliseconds, -1 for as long as it takes. */
int64_t server_run(struct server *server);
