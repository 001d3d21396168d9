/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way out of a sandbox: a proxy outside, through which all its TCP connections leave. Part of a
 * policy, which is stored as it is:
 *
 *   {"type": "socks5", "host": "proxy.example.com", "port": 1080, "username": "sandboxes",
 *    "password": "${secrets.proxy}"}
 *
 * The firewall of a host gets the password itself, or a reason instead:
 *
 *   {"type", "host", "port", "username", "password", "secret": "proxy",
 *    "refused": "why no connection is opened"}
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "network/egress_rule.h"

#define EGRESS_PROXY          "egress_proxy" /* the member of a policy */
#define EGRESS_PROXY_TEXT_MAX 255            /* of a name and a password (RFC 1929) */

/* Members of the object in a request, and in the firewall's form. */
extern const struct schema_member egress_proxy_members[];
extern const struct schema_member egress_proxy_wire_members[];

/* Check what the schema cannot: a name goes with a password. Errors: ERR_INVALID_REQUEST with the
 * member. */
int egress_proxy_check(const json_t *proxy, const char *pointer, struct error **err);

/* Copy the name of the secret that is the password. Returns false for a proxy without one. */
bool egress_proxy_secret(const json_t *proxy, char name[EGRESS_SECRET_NAME_MAX + 1]);

/* Read the proxy's address, in host byte order. Returns 0 for a name. */
uint32_t egress_proxy_address(const char *host);
