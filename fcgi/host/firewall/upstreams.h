/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read the addresses of upstream resolvers. */
#pragma once

#include <stddef.h>
#include <sys/socket.h>

#include "base/error.h"

struct upstream {
    struct sockaddr_storage address;
    socklen_t size;
};

/* Read a list in the form of resolver_open(); *count is at most max. Errors: ERR_CONFIG. */
int upstreams_parse(const char *text, struct upstream *upstreams, size_t max, size_t *count,
                    struct error **err);

/* Read the nameserver lines of a file such as /etc/resolv.conf; other lines are skipped. Returns
 * the number of addresses, 0 when the file cannot be read. */
size_t upstreams_read(const char *path, struct upstream *upstreams, size_t max);
