/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Policies as nftables commands (libnftables-json(5)); pure. The table and what these chains stand
 * in is conf/nftables/sandlot.nft.in.
 *
 * A sandbox has two chains, sb_<address> for TCP and UDP and se_<address> for echoes. A few rules
 * stand in them one by one. More of them become one set of intervals of addresses and ports, so
 * that a packet costs the same whatever the policy. Only concatenated sets are used: libnftables
 * reads the elements of all plain interval sets of the machine before it adds one element, and
 * sets at all are what its preparation costs most for (1,000 sandboxes of 5 entries: an update
 * takes 1.7 ms with rules, 10 ms with concatenated sets, 56 ms with plain ones).
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "network/policy.h"

#define RULES_LINEAR_MAX 16 /* rules of a chain before they become a set */

#define MARK_SANDBOX     0x00ffffffu /* the sandbox: last bits of its address */
#define MARK_NAMED       0x40000000u /* opened while a name allowed it */
#define MARK_CUT         0x80000000u

/* What a name's address is to the kernel. */
struct name_element {
    uint32_t address; /* host byte order */
    uint16_t port;    /* 0: all that have no element of their own */
    enum policy_verdict verdict;
    int64_t expires_at_ms; /* 0: stays */
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

/* Put the policy in force for that source address (host byte order), whatever was there. */
void rules_sandbox(struct rules *rules, uint32_t address, const struct policy *policy);

/* Close the address and drop its chains, which must exist. */
void rules_sandbox_remove(struct rules *rules, uint32_t address);
/* Nothing is at the address any more: whoever gets it next is reached again. */
void rules_sandbox_ended(struct rules *rules, uint32_t address);

/* Close the address; its chains, which must exist, stay. */
void rules_close(struct rules *rules, uint32_t address);

/* Take elements out of the sets of names, whether they have run out or not, and put others in. An
 * element whose time changes stands in both lists. */
void rules_names(struct rules *rules, uint32_t sandbox, const struct name_element *old,
                 size_t old_count, const struct name_element *fresh, size_t fresh_count,
                 int64_t now_ms);

/* Close every address; chains are left. */
void rules_close_all(struct rules *rules);
/* Drop chains that no map leads to any more: of a list of the table's chains those of sandboxes. */
void rules_drop_chains(struct rules *rules, const json_t *listed);
/* The command that asks for that list. */
void rules_list_chains(struct rules *rules);

/* Replace the networks that are never reached. */
void rules_never(struct rules *rules, const struct policy_range *ranges, size_t count);

/* Whether a sandbox with this policy gets answers for any name. */
bool rules_asks_names(const struct policy *policy);
