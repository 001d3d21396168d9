/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What nginx on a front knows of the relays of other machines. */
#pragma once

#include "host/host.h"

#define NGINX_HOSTS_FILE "sandlot-hosts.conf"

/* The text of that file, which the caller frees: an upstream with kept connections for each host
 * that has a relay. A host that is not in it yet is reached all the same, by a new connection for
 * each request; so it does not matter when nginx reads it. */
char *nginx_hosts_text(const struct host *hosts, unsigned count);
