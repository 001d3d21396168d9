/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "base/error.h"

/* Connect to a unix socket, and close the connection. Errors: ERR_CONFIG (no program listens),
 * ERR_RUNTIME_UNAVAILABLE (its queue is full). */
int socket_probe(const char *path, struct error **err);

/* Ask the FastCGI application behind a unix socket for a sign of life, which any worker that is
 * free gives without running a request. Errors: ERR_CONFIG (no program listens),
 * ERR_RUNTIME_UNAVAILABLE (no worker answered within wait_ms). */
int fastcgi_probe(const char *socket_path, int wait_ms, struct error **err);
