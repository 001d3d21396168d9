/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the addresses of one sandbox stand for: names that it was answered, and names that its
 * policy denies, whose addresses the firewall looks up by itself. Pure; times are wall-clock
 * milliseconds.
 *
 * An answer stays known after its time: it no longer opens anything, but tells whether a
 * connection that was opened while it held is still allowed when the policy changes.
 */
#pragma once

#include <stdbool.h>

#include "firewall/lookup.h"
#include "firewall/rules.h"

#define NAMES_MAX    512  /* answered addresses that a sandbox may hold; past it the oldest go */
#define ELEMENTS_MAX 4096 /* that they may become in the kernel's sets */

enum name_verdict { NAME_SAYS_NOTHING, NAME_ALLOWS, NAME_DENIES };

/* What a policy says about a name, port by port. */
struct name_rights {
    enum name_verdict any_port;
    struct policy_port *ports; /* those that the policy's entries mention */
    size_t port_count;
};

struct name_answer {
    char *name;
    uint32_t address;
    int64_t expires_at_ms;
    struct name_rights rights;
};

struct name_lookup {
    struct lookup *lookup; /* borrowed from the lookup list, which counts it */
    struct name_rights rights;
};

struct names {
    struct name_answer *answers;
    size_t count;
    struct name_lookup *lookups;
    size_t lookup_count;
};

void name_rights_find(const struct policy *policy, const char *name, struct name_rights *rights);
void name_rights_deinit(struct name_rights *rights);
bool name_rights_allow(const struct name_rights *rights); /* for some port */

/* The names must be given to a lookup list's release first. */
void names_deinit(struct names *names);

/* Remember an answer; one that is known gets the later time. True when anything is new. */
bool names_answered(struct names *names, const struct policy *policy, const char *name,
                    uint32_t address, int64_t expires_at_ms);

/* Look all answers up again in another policy; those that it does not allow are forgotten. */
void names_apply(struct names *names, const struct policy *policy);

/* The elements that should be in the kernel's sets now, by address and port; the caller frees
 * them. False when there are more than ELEMENTS_MAX and one that denies is left out: the policy
 * cannot be in force. Of those that allow the rest stays closed. */
bool names_elements(const struct names *names, int64_t now_ms, struct name_element **elements,
                    size_t *count);

/* What all names of an address say about a connection, answers that have run out included. */
enum name_verdict names_decide(const struct names *names, uint32_t address, uint16_t port);
