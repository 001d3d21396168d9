/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read names, numbers, times and objects from the query. When the parameter is absent, the value
 * does not change. Errors: ERR_INVALID_REQUEST with the parameter. */
#pragma once

#include <stdint.h>

#include "account/account.h"
#include "host/host.h"
#include "http/http.h"

int query_read_number(const struct http_request *request, const char *name, uint64_t least,
                      uint64_t most, uint64_t *value, struct error **err);
int query_read_time(const struct http_request *request, const char *name, int64_t *at_ms,
                    struct error **err);

/* Return a filter of names or ids, NULL without one. The database refuses to compare ASCII columns
 * with other text. So such a filter becomes "?", which no name or id contains. */
const char *query_name(const struct http_request *request, const char *name);

/* Find the team or the host that the query of an operator names; *named: it names one, and for
 * hosts host_deinit(). */
int query_read_team(struct db *db, const struct http_request *request, bool *named,
                    struct team *team, struct error **err);
int query_read_host(struct db *db, const struct http_request *request, bool *named,
                    struct host *host, struct error **err);
