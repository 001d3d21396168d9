/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Network policies: the addresses and names that a sandbox may reach. A policy is a default and
 * rules. The most specific rule that matches decides, as in a routing table
 * (policy_entry_compare()). A deny wins against an allow that is equally specific. Protected
 * networks are checked before all rules and are not part of a policy: see network/protected.h.
 *
 * Names and addresses: the resolver answers a sandbox's query if policy_name_find() says that the
 * name resolves. Addresses in answers for a name that an entry allows are then allowed by that
 * entry, before any network rule. policy_decide_address() decides everything else.
 */
#pragma once

#include <jansson.h>

#include "http/schema.h"
#include "network/egress_proxy.h"
#include "network/egress_rule.h"
#include "network/policy_entry.h"

#define POLICY_RULES_MAX    8192
#define NETWORK_ENTRIES_MAX 256 /* in each list of a request */

enum policy_verdict { POLICY_DENY, POLICY_ALLOW };
const char *policy_verdict_name(enum policy_verdict verdict); /* "deny", "allow" */

struct policy_rule {
    struct policy_entry entry;
    enum policy_verdict verdict;
    char *origin; /* where it was written: "/allow_out/3", "egress_profiles/package-registries" */
};

struct policy {
    enum policy_verdict default_verdict;
    bool asks; /* the owner is asked about connections that only the default denies */
    struct policy_rule *rules;
    size_t count;
    json_t *egress; /* the firewall's form of egress rules (egress_rule.h); NULL: none; owned */
    json_t *proxy;  /* the firewall's form of the way out (egress_proxy.h); NULL: none; owned */
};
void policy_deinit(struct policy *policy);

static inline void policy_autodeinit_(struct policy *policy)
{
    policy_deinit(policy);
}
/* `policy_auto policy = {0};` frees its contents at the end of its block. */
#define policy_auto __attribute__((cleanup(policy_autodeinit_))) struct policy

/* Add a rule; the text is parsed, the origin copied. Errors: ERR_INVALID_REQUEST. */
int policy_add(struct policy *policy, const char *entry, enum policy_verdict verdict,
               const char *origin, struct error **err);

/* --- deciding --- */

struct policy_decision {
    enum policy_verdict verdict;
    const struct policy_rule *rule; /* NULL: the default; lives as long as the policy */
};

/* Decide a connection to a name and port by the rules for names. name: lower case, no last dot.
 * port: from 1 to 65535.
 *
 * rule NULL: no rule matches and the verdict is the default. Where there are rules for networks,
 * the name's addresses then decide. */
struct policy_decision policy_decide_name(const struct policy *policy, const char *name,
                                          uint16_t port);

/* Decide a connection to an address and port by the rules for networks. */
struct policy_decision policy_decide_address(const struct policy *policy,
                                             const struct policy_address *address, uint16_t port);

struct policy_port {
    uint16_t port;
    enum policy_verdict verdict;
};

/* A name as the resolver of the sandboxes sees it. */
struct policy_name {
    bool listed;                     /* a rule for names matches, with any port */
    bool resolves;                   /* the resolver may answer: some port is allowed */
    struct policy_decision any_port; /* the decision for all ports that are not in ports */
    struct policy_port *ports;       /* by number, only where the verdict differs */
    size_t port_count;
};

/* Collect the rules for a name. any_port.rule is NULL when no rule without a port matches: the name
 * does not decide such ports. The caller ends with policy_name_deinit(). */
void policy_name_find(const struct policy *policy, const char *name, struct policy_name *found);
void policy_name_deinit(struct policy_name *found);

/* --- flat form --- */

/* An interval of addresses that all have the same verdicts. */
struct policy_range {
    struct policy_address first, last; /* both included */
    enum policy_verdict verdict;       /* of the ports that are not in ports */
    struct policy_port *ports;         /* by number, only where the verdict differs */
    size_t port_count;
};

/* Return the rules for networks as sorted, disjoint intervals of one family; neighbours with the
 * same verdicts are joined. Addresses outside the intervals follow the default. The caller ends
 * with policy_ranges_free(). */
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
    /* Numbers that stand for the team and for the user who made the sandbox, by which the firewall
     * divides its resources; 0: unknown. They travel in headers instead of the JSON, because
     * firewalls of earlier versions refuse unknown members. */
    uint64_t tenant, user;
    size_t bytes; /* of the JSON; 0: unknown */
};
#define POLICY_TENANT_HEADER "X-Sandlot-Tenant"
#define POLICY_USER_HEADER   "X-Sandlot-User"
void policy_wire_deinit(struct policy_wire *wire);

static inline void policy_wire_autodeinit_(struct policy_wire *wire)
{
    policy_wire_deinit(wire);
}
#define policy_wire_auto __attribute__((cleanup(policy_wire_autodeinit_))) struct policy_wire

/*
 * Return the JSON form, a new reference:
 *
 *   {"sandbox_id": "sbx_…", "address": "10.88.0.7", "revision": 7, "default": "deny",
 *    "rules": [{"entry": "api.example.com:443", "verdict": "allow", "origin": "/allow_out/0"}, …]}
 *
 * The default is "ask" when the policy asks. With egress rules there is a member "egress" too, and
 * with a way out "egress_proxy". Firewalls of earlier versions refuse all three.
 */
json_t *policy_wire_json(const struct policy_wire *wire);

/* The members of the JSON object, for a route that takes one (http/schema.h). */
extern const struct schema_member policy_wire_members[];

/* Read the JSON form. No member may be missing, unknown or of another type. The caller ends with
 * policy_wire_deinit(). Errors: ERR_INVALID_REQUEST with the field. */
int policy_wire_read(const json_t *json, struct policy_wire *wire, struct error **err);
