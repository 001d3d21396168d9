/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decide for nginx which requests of a sandbox to a host with egress rules pass, by which way, and
 * with which headers (conf/nginx/sandlot-egress.conf.in). */
#pragma once

#include "firewall/filter.h"
#include "http/http.h"

/* Return an address of a host of egress rules, or of an egress proxy; 0: none. It is in the last
 * answer of an upstream resolver, and sandboxes may reach it. Of several, it is the one to which no
 * connection has failed (lookup_failed()), or whose failure is the oldest. */
uint32_t egress_address_of(const struct filter *filter, const char *host);

/* Return whether an entry of the policy denies a host by its name. */
bool egress_is_denied(const struct policy *policy, const char *host, uint16_t port);

/* Note that a secret was sent now. When there is no room for another secret, all notes of others
 * are deleted, because previous policies may have left them. */
void egress_note_secret(struct filter_sandbox *sandbox, const char *name);

/* Handle GET /v1/egress. Answers 200 with header lines, or 403 with the line Sandlot-Reason. When
 * the client may repeat the request, it answers 401 (the team or user has used its share of
 * requests) or 503 (no way is free, or the rules are not loaded yet). Always returns 0. context:
 * the filter. */
int egress_answer(void *context, struct http_request *request, struct http_response *response,
                  struct error **err);
