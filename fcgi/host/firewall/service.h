/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread beside the FastCGI loop: names, the log of refusals, and whatever is due by time. */
#pragma once

#include "firewall/filter.h"

struct service;

/* Open what it listens on and start it. Errors: ERR_CONFIG. */
int service_start(struct filter *filter, struct service **service, struct error **err);
/* End it and wait for that; NULL is allowed. */
void service_stop(struct service *service);
