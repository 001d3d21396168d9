/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Map addresses to names, for one sandbox. These are the names that the sandbox has looked up, and
 * the names that its policy denies, which the firewall looks up. Without input and output. Times
 * are wall-clock milliseconds.
 *
 * An answer is kept after its time to live. It then opens no connections. But when the policy
 * changes, it shows whether a connection that was opened before is still allowed.
 */
#pragma once

#include <stdbool.h>

#include "firewall/lookup.h"
#include "firewall/rules.h"

/* Answered addresses of a sandbox. A new one replaces the one that expires first. */
#define NAMES_MAX    512
#define ELEMENTS_MAX 4096 /* elements of a sandbox's names in the kernel's sets */

enum name_verdict { NAME_SAYS_NOTHING, NAME_ALLOWS, NAME_DENIES };

/* The verdicts of a policy about a name, for each port. */
struct name_rights {
    enum name_verdict any_port;
    struct policy_port *ports; /* the ports in the policy's entries */
    size_t port_count;
};

struct name_answer {
    char *name;
    uint32_t address;
    int64_t expires_at_ms;
    struct name_rights rights;
};

struct name_lookup {
    struct lookup *lookup; /* borrowed from the lookup list, which counts its users */
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
bool name_rights_allow(const struct name_rights *rights); /* on some port */
bool name_rights_deny(const struct name_rights *rights);  /* on some port */

/* Free the names. Release their lookups before. */
void names_deinit(struct names *names);

/* Return the entry of a lookup, or NULL: the names do not use it. */
const struct name_lookup *names_lookup(const struct names *names, const struct lookup *lookup);

/* Store an answer. A known one gets the later time. Returns true when something has changed. */
bool names_answered(struct names *names, const struct policy *policy, const char *name,
                    uint32_t address, int64_t expires_at_ms);

/* Check all answers against another policy, and drop those that it does not allow. */
void names_apply(struct names *names, const struct policy *policy);

/* List the elements that the kernel's sets should have now, by address and port; the caller frees
 * them. Elements beyond `most` are left out. A missing one that allows stays closed. Returns false
 * when one that denies is missing: then the policy cannot be applied. */
bool names_elements(const struct names *names, int64_t now_ms, size_t most,
                    struct name_element **elements, size_t *count);

/* Combine the verdicts of all names of an address about a connection, including expired answers. */
enum name_verdict names_decide(const struct names *names, uint32_t address, uint16_t port);
