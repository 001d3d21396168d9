/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a sandbox may reach. A policy is a default and rules; the most specific rule that matches
 * decides, as in a routing table (policy_entry_compare()), and where an allow and a deny are
 * equally specific, the deny does. Protected networks come before all of it and are not part of a
 * policy: see network/protected.h.
 *
 * How names and addresses meet: a sandbox asks for a name and is answered if policy_name_find()
 * says that it resolves. Addresses that were answered for a name that an entry allows are reached
 * by that entry's right, before any network rule. Everything else is decided by
 * policy_decide_address().
 */
#pragma once

#include <jansson.h>

#include "http/schema.h"
#include "network/policy_entry.h"

#define POLICY_RULES_MAX 8192

enum policy_verdict { POLICY_DENY, POLICY_ALLOW };
const char *policy_verdict_name(enum policy_verdict verdict); /* "deny", "allow" */

struct policy_rule {
    struct policy_entry entry;
    enum policy_verdict verdict;
    char *origin; /* where it was written: "/allow_out/3", "egress_profiles/package-registries" */
};

struct policy {
    enum policy_verdict default_verdict;
    struct policy_rule *rules;
    size_t count;
};
void policy_deinit(struct policy *policy);

static inline void policy_autodeinit_(struct policy *policy)
{
    policy_deinit(policy);
}
/* `policy_auto policy = {0};` frees what it holds at the end of its block. */
#define policy_auto __attribute__((cleanup(policy_autodeinit_))) struct policy

/* Add a rule; the text is parsed, the origin copied. Errors: ERR_INVALID_REQUEST. */
int policy_add(struct policy *policy, const char *entry, enum policy_verdict verdict,
               const char *origin, struct error **err);

/* --- deciding --- */

struct policy_decision {
    enum policy_verdict verdict;
    const struct policy_rule *rule; /* NULL: the default; lives as long as the policy */
};

/* What the rules for names say about a connection to that name and port (1 to 65535). rule NULL:
 * none of them matches, the verdict is the default, and the name's addresses decide where there are
 * rules for networks. name: lower case, no last dot. */
struct policy_decision policy_decide_name(const struct policy *policy, const char *name,
                                          uint16_t port);

/* What the rules for networks say about a connection to that address and port. */
struct policy_decision policy_decide_address(const struct policy *policy,
                                             const struct policy_address *address, uint16_t port);

struct policy_port {
    uint16_t port;
    enum policy_verdict verdict;
};

/* A name as the resolver of the sandboxes sees it. */
struct policy_name {
    bool listed;                     /* a rule for names matches, with whatever port */
    bool resolves;                   /* it may be answered: some port is allowed */
    struct policy_decision any_port; /* what holds for the ports that are not in ports */
    struct policy_port *ports;       /* by number, only where the verdict is another one */
    size_t port_count;
};

/* The caller ends with policy_name_deinit(). any_port.rule is NULL when no rule without a port
 * matches: such ports are not decided by the name. */
void policy_name_find(const struct policy *policy, const char *name, struct policy_name *found);
void policy_name_deinit(struct policy_name *found);

/* --- flat form --- */

/* An interval of addresses in which every one is decided alike. */
struct policy_range {
    struct policy_address first, last; /* both included */
    enum policy_verdict verdict;       /* of the ports that are not in ports */
    struct policy_port *ports;         /* by number, only where the verdict is another one */
    size_t port_count;
};

/* The rules for networks as sorted, disjoint intervals of one family, neighbours joined where they
 * say the same. What is left out follows the default. The caller ends with policy_ranges_free().
 */
void policy_ranges(const struct policy *policy, enum policy_family family,
                   struct policy_range **ranges, size_t *count);
void policy_ranges_free(struct policy_range *ranges, size_t count);

/* --- between control plane and firewall --- */

#define POLICY_WIRE_MAX (4u << 20) /* bytes of a policy's JSON */

struct policy_wire {
    char *sandbox_id;
    uint32_t address; /* IPv4, host byte order */
    uint64_t revision;
    struct policy policy;
    /* A number that stands for the team, by which the firewall shares out; 0: not known. It is no
     * part of the JSON, but comes in a header, as firewalls of versions before refuse members that
     * they do not know. */
    uint64_t tenant;
};
#define POLICY_TENANT_HEADER "X-Sandlot-Tenant"
void policy_wire_deinit(struct policy_wire *wire);

static inline void policy_wire_autodeinit_(struct policy_wire *wire)
{
    policy_wire_deinit(wire);
}
#define policy_wire_auto __attribute__((cleanup(policy_wire_autodeinit_))) struct policy_wire

/*
 * {"sandbox_id": "sbx_…", "address": "10.88.0.7", "revision": 7, "default": "deny",
 *  "rules": [{"entry": "api.example.com:443", "verdict": "allow", "origin": "/allow_out/0"}, …]}
 *
 * The caller owns what is returned.
 */
json_t *policy_wire_json(const struct policy_wire *wire);

/* The members of that object, for a route that takes one (http/schema.h). */
extern const struct schema_member policy_wire_members[];

/* The reverse, strict: no member may be missing, unknown or of another type. The caller ends with
 * policy_wire_deinit(). Errors: ERR_INVALID_REQUEST with the field. */
int policy_wire_read(const json_t *json, struct policy_wire *wire, struct error **err);
