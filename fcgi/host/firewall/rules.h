/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Translate policies to nftables commands (libnftables-json(5)). Without input and output. The
 * table around these chains is conf/nftables/sandlot.nft.in.
 *
 * A sandbox has two chains: sb_<address> for TCP and UDP, and se_<address> for echoes. A few rules
 * are written one by one. Longer lists become one set of intervals of addresses and ports, so that
 * the cost of a packet does not depend on the policy.
 *
 * All sets are concatenated. Before libnftables adds an element, it reads the elements of all plain
 * interval sets of the machine. Preparing sets is also its largest cost. With 1,000 sandboxes of 5
 * entries, an update takes 1.7 ms with rules, 10 ms with concatenated sets, and 56 ms with plain
 * ones.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "firewall/sources.h"
#include "network/policy.h"

#define RULES_LINEAR_MAX 16 /* rules of a chain before they become a set */

#define MARK_SANDBOX     0x00ffffffu /* the sandbox: the last bits of its address */
#define MARK_NAMED       0x40000000u /* opened while a name allowed it */
#define MARK_OUTLET      0x20000000u /* through an egress proxy; also of packets to one */
#define MARK_CUT         0x80000000u

/* An address of a name in the kernel's sets. */
struct name_element {
    uint32_t address; /* host byte order */
    uint16_t port;    /* 0: all ports without an element of their own */
    enum policy_verdict verdict;
    int64_t expires_at_ms; /* 0: no end */
};

struct rules {
    const char *table; /* borrowed */
    json_t *commands;  /* array; owned */
};
void rules_init(struct rules *rules, const char *table);
void rules_deinit(struct rules *rules);

static inline void rules_autodeinit_(struct rules *rules)
{
    rules_deinit(rules);
}
#define rules_auto __attribute__((cleanup(rules_autodeinit_))) struct rules

/* Apply a policy to a source address (host byte order), in place of any previous one. */
void rules_sandbox(struct rules *rules, uint32_t address, const struct policy *policy);

/* Let an address leave from the address of its team. Count its connections to this host's proxies
 * for the team and the user of a policy with egress rules or an egress proxy. old: the policy
 * before, which may have no sandbox; fresh NULL: none follows. */
void rules_tenants(struct rules *rules, const struct sources *sources, uint32_t address,
                   const struct policy_wire *old, const struct policy_wire *fresh);

/* Close an address and delete its chains, which must exist. */
void rules_sandbox_remove(struct rules *rules, uint32_t address);
/* Let this host reach an address again, after the instance there has ended. */
void rules_sandbox_ended(struct rules *rules, uint32_t address);

/* Close an address; its chains, which must exist, stay. */
void rules_close(struct rules *rules, uint32_t address);

/* Remove elements from the sets of names, expired or not, and add others. An element whose time
 * changes is in both lists. */
void rules_names(struct rules *rules, uint32_t sandbox, const struct name_element *old,
                 size_t old_count, const struct name_element *fresh, size_t fresh_count,
                 int64_t now_ms);

/* Close all addresses; chains stay. */
void rules_close_all(struct rules *rules);
/* Delete the chains of sandboxes in a list of the table's chains. No map may lead to them. */
void rules_drop_chains(struct rules *rules, const json_t *listed);
/* Add the command for this list. */
void rules_list_chains(struct rules *rules);

/* Replace the networks that are never reachable. */
void rules_never(struct rules *rules, const struct policy_range *ranges, size_t count);
