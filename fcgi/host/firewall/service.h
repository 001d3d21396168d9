/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run the second thread, next to the FastCGI loop: names, the log of refusals, and periodic
 * work. */
#pragma once

#include "firewall/filter.h"

struct service;

/* Open the sockets and start the thread. Errors: ERR_CONFIG. */
int service_start(struct filter *filter, struct service **service, struct error **err);
/* Stop the thread and wait for its end. NULL is allowed. */
void service_stop(struct service *service);
