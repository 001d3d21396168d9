/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Egress rules: what may be sent to single hosts over HTTPS or HTTP, and which headers sandlot sets
 * there.
 * A rule of a request, which is stored as it is:
 *
 *   {"host": "api.example.com", "port": 443, "methods": ["GET", …], "paths": ["/v1/…*", …],
 *    "headers": {"Authorization": "Bearer ${secrets.example}"},
 *    "query": {"key": "${secrets.example}"}}
 *
 * A rule of port 80 is for HTTP without TLS, and mentions no secret. The rules of one host and port
 * are looked at in their order: the first with the method and the path decides. A host that a rule
 * names is reached through its rules only.
 *
 * The firewall of a host gets them with the values of the secrets (struct policy, egress):
 *
 *   {"rules": [{"host", "port", "headers": {"authorization": "Bearer …"}, "query", "methods",
 *    "paths", "secrets": ["example"], "refused": "why no request passes"}],
 *    "certificates": {"api.example.com": "certificate and key, PEM"}}
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "http/schema.h"

#define EGRESS_RULES_MAX      32
#define EGRESS_HOST_MAX       235 /* a file on the host is named after it and an address */
#define EGRESS_METHODS_MAX    16
#define EGRESS_PATHS_MAX      64
#define EGRESS_PATH_MAX       512
#define EGRESS_HEADERS_MAX    8
#define EGRESS_QUERY_MAX      8
#define EGRESS_QUERY_NAME_MAX 128
#define EGRESS_TARGET_MAX     16384 /* bytes of a path with a query that a rule changes */
#define EGRESS_HEADER_MAX     8192  /* bytes of a value, with its secrets */
#define EGRESS_SECRETS_MAX    16    /* secrets in one policy */
/* Bytes of a policy's rules as JSON, and of all values with their secrets. The firewall of a host
 * has the policies of all teams in its memory. */
#define EGRESS_RULES_BYTES_MAX  ((size_t)768 * 1024)
#define EGRESS_VALUES_BYTES_MAX ((size_t)128 * 1024)
#define EGRESS_SECRET_NAME_MAX  63
#define EGRESS_PORT             443
#define EGRESS_PORT_HTTP        80
/* Sockets NUMBER.way of sandlot-firewall, and upstreams of nginx that lead to them. nginx keeps
 * connections on the first ones. Each of the others carries one connection and is free again when
 * nginx has connected. */
#define EGRESS_WAYS_KEPT          1024
#define EGRESS_WAYS_KEPT_TEAM_MAX 256 /* of one team, and of one user */
#define EGRESS_WAYS_ONCE          256
#define EGRESS_WAYS_ONCE_TEAM_MAX 64
#define EGRESS_WAYS_MAX           (EGRESS_WAYS_KEPT + EGRESS_WAYS_ONCE)
#define EGRESS_WAY                "sandlot_way_"

/* An element of the list in a request. */
extern const struct schema_member egress_rule_item;
/* The member of the firewall's form. */
extern const struct schema_member egress_wire_members[];

/* The names of the headers that a rule may set, in lower case; NULL ends them. */
extern const char *const egress_header_names[];

/* Check that this can be the name of a secret: 1 to 63 letters, digits, hyphens, underscores. */
bool egress_secret_name_is_valid(const char *name);

/* Return whether a text is the mention of one secret and nothing else. Copies its name. */
bool egress_is_mention(const char *text, char name[EGRESS_SECRET_NAME_MAX + 1]);

/* Call visit() for each mention of a secret in a rule. It may be called with one name several
 * times. Returns -1 as soon as visit() does. */
struct egress_place {
    const char *member, *key; /* "headers" or "query", and the name in it */
};
typedef int egress_visit(void *context, const struct egress_place *place, const char *name,
                         struct error **err);
int egress_rule_each_secret(const json_t *rule, egress_visit *visit, void *context,
                            struct error **err);

/* Replace each mention of a secret in a value. value_of() returns its value, which the caller of
 * this function owns, or NULL. Returns the text, which the caller wipes and frees, or NULL: a
 * secret has no value, or the text is longer than EGRESS_HEADER_MAX. */
char *egress_value_fill(const char *value, const char *(*value_of)(void *context, const char *name),
                        void *context);

/* --- deciding, on a host --- */

struct egress_request {
    const char *sni, *host, *http_host; /* of TLS; of the request as nginx read it; its header */
    uint16_t port;                      /* that the sandbox connected to */
    const char *method, *uri;
};

/* Return the port of a rule: EGRESS_PORT, or EGRESS_PORT_HTTP. */
uint16_t egress_port(const json_t *rule);

/* Return whether a rule names the host, and the port; port 0: any. egress NULL: there are no
 * rules. */
bool egress_has_host(const json_t *egress, const char *name, uint16_t port);

/* Return the rule that lets a request pass, or NULL, and *reason: a sentence without text of the
 * request. */
const json_t *egress_decide(const json_t *egress, const struct egress_request *request,
                            const char **reason);

/* Return the target of a request, of which the rule sets parameters: they replace those of the
 * request. NULL: it is too long, or no path. The caller wipes and frees it. */
char *egress_target(const json_t *rule, const char *uri);
