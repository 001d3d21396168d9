/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The relays of other machines, for nginx on a front. */
#pragma once

#include "host/host.h"

#define NGINX_HOSTS_FILE "sandlot-hosts.conf"

/* Return the text of the file for nginx, which the caller frees: an upstream with kept connections
 * for each host that has a relay. If a host is not in the file yet, nginx uses a new connection for
 * each request. So a late reload does no harm. */
char *nginx_hosts_text(const struct host *hosts, unsigned count);
