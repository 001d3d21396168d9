/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* --- verdicts about a name --- */

static bool rights_has_port(const struct name_rights *rights, uint16_t port)
{
    for (size_t i = 0; i < rights->port_count; i++)
        if (rights->ports[i].port == port)
            return true;
    return false;
}

void name_rights_find(const struct policy *policy, const char *name, struct name_rights *rights)
{
    struct policy_decision any = policy_decide_name(policy, name, 0);
    *rights = (struct name_rights){.any_port = !any.rule                     ? NAME_SAYS_NOTHING
                                               : any.verdict == POLICY_ALLOW ? NAME_ALLOWS
                                                                             : NAME_DENIES};
    for (size_t i = 0; i < policy->count; i++) {
        const struct policy_entry *entry = &policy->rules[i].entry;
        if (!entry->port || !policy_entry_matches_name(entry, name) ||
            rights_has_port(rights, entry->port))
            continue;
        rights->ports = xreallocarray(rights->ports, rights->port_count + 1, sizeof *rights->ports);
        rights->ports[rights->port_count++] = (struct policy_port){
            entry->port, policy_decide_name(policy, name, entry->port).verdict};
    }
}

void name_rights_deinit(struct name_rights *rights)
{
    free(rights->ports);
    *rights = (struct name_rights){0};
}

static enum name_verdict rights_decide(const struct name_rights *rights, uint16_t port)
{
    for (size_t i = 0; i < rights->port_count; i++)
        if (rights->ports[i].port == port)
            return rights->ports[i].verdict == POLICY_ALLOW ? NAME_ALLOWS : NAME_DENIES;
    return rights->any_port;
}

static bool has_verdict(const struct name_rights *rights, enum policy_verdict verdict)
{
    for (size_t i = 0; i < rights->port_count; i++)
        if (rights->ports[i].verdict == verdict)
            return true;
    return rights->any_port == (verdict == POLICY_ALLOW ? NAME_ALLOWS : NAME_DENIES);
}

bool name_rights_allow(const struct name_rights *rights)
{
    return has_verdict(rights, POLICY_ALLOW);
}

bool name_rights_deny(const struct name_rights *rights)
{
    return has_verdict(rights, POLICY_DENY);
}

/* --- answers --- */

static void answer_deinit(struct name_answer *answer)
{
    free(answer->name);
    name_rights_deinit(&answer->rights);
}

void names_deinit(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        answer_deinit(&names->answers[i]);
    for (size_t i = 0; i < names->lookup_count; i++)
        name_rights_deinit(&names->lookups[i].rights);
    free(names->answers);
    free(names->lookups);
    *names = (struct names){0};
}

const struct name_lookup *names_lookup(const struct names *names, const struct lookup *lookup)
{
    for (size_t i = 0; i < names->lookup_count; i++)
        if (names->lookups[i].lookup == lookup)
            return &names->lookups[i];
    return NULL;
}

/* Return the place for a new answer: after the others, or in place of the one that expires
 * first. */
static struct name_answer *place_for_answer(struct names *names)
{
    if (!names->answers)
        names->answers = xcalloc(NAMES_MAX, sizeof *names->answers);
    if (names->count < NAMES_MAX)
        return &names->answers[names->count++];
    struct name_answer *oldest = names->answers;
    for (size_t i = 1; i < names->count; i++)
        if (names->answers[i].expires_at_ms < oldest->expires_at_ms)
            oldest = &names->answers[i];
    answer_deinit(oldest);
    return oldest;
}

bool names_answered(struct names *names, const struct policy *policy, const char *name,
                    uint32_t address, int64_t expires_at_ms)
{
    for (size_t i = 0; i < names->count; i++) {
        struct name_answer *answer = &names->answers[i];
        if (answer->address != address || strcmp(answer->name, name) != 0)
            continue;
        bool later = expires_at_ms > answer->expires_at_ms;
        if (later)
            answer->expires_at_ms = expires_at_ms;
        return later;
    }
    struct name_answer *answer = place_for_answer(names);
    *answer = (struct name_answer){xstrdup(name), address, expires_at_ms, {0}};
    name_rights_find(policy, name, &answer->rights);
    return true;
}

void names_apply(struct names *names, const struct policy *policy)
{
    size_t kept = 0;
    for (size_t i = 0; i < names->count; i++) {
        struct name_answer *answer = &names->answers[i];
        name_rights_deinit(&answer->rights);
        name_rights_find(policy, answer->name, &answer->rights);
        if (name_rights_allow(&answer->rights))
            names->answers[kept++] = *answer;
        else
            answer_deinit(answer);
    }
    names->count = kept;
}

/* --- elements --- */

/* The rights that one name gives to an address. */
struct claim {
    uint32_t address;
    int64_t expires_at_ms; /* 0: no end */
    const struct name_rights *rights;
};

static int compare_claims(const void *a, const void *b)
{
    uint32_t left = ((const struct claim *)a)->address, right = ((const struct claim *)b)->address;
    return left < right ? -1 : left > right;
}

static size_t collect_claims(const struct names *names, int64_t now_ms, struct claim **claims)
{
    size_t count = 0, capacity = names->count;
    for (size_t i = 0; i < names->lookup_count; i++)
        capacity += names->lookups[i].lookup->count;
    *claims = xcalloc(capacity + 1, sizeof **claims);
    for (size_t i = 0; i < names->count; i++)
        if (names->answers[i].expires_at_ms > now_ms)
            (*claims)[count++] =
                (struct claim){names->answers[i].address, names->answers[i].expires_at_ms,
                               &names->answers[i].rights};
    for (size_t i = 0; i < names->lookup_count; i++)
        for (size_t j = 0; j < names->lookups[i].lookup->count; j++)
            (*claims)[count++] = (struct claim){names->lookups[i].lookup->addresses[j].address, 0,
                                                &names->lookups[i].rights};
    if (count)
        qsort(*claims, count, sizeof **claims, compare_claims);
    return count;
}

static bool is_later(int64_t a_ms, int64_t b_ms)
{
    return b_ms && (!a_ms || a_ms > b_ms);
}

/* Combine the claims about an address for a port (0: ports without a claim): one that denies is
 * enough. A lookup never opens an address: the sandbox was not answered. */
static enum name_verdict decide_claims(const struct claim *claims, size_t count, uint16_t port,
                                       int64_t *expires_at_ms)
{
    enum name_verdict verdict = NAME_SAYS_NOTHING;
    for (size_t i = 0; i < count; i++) {
        enum name_verdict one =
            port ? rights_decide(claims[i].rights, port) : claims[i].rights->any_port;
        if (one == NAME_SAYS_NOTHING || (one == NAME_ALLOWS && !claims[i].expires_at_ms))
            continue;
        if (one > verdict || (one == verdict && is_later(claims[i].expires_at_ms, *expires_at_ms)))
            *expires_at_ms = claims[i].expires_at_ms;
        if (one > verdict)
            verdict = one;
    }
    return verdict;
}

struct element_list {
    struct name_element *items;
    size_t count, most;
    bool leaks; /* there was no room for an element that denies */
};

static void add_element(struct element_list *list, const struct claim *claims, size_t count,
                        uint16_t port)
{
    int64_t expires_at_ms = 0;
    enum name_verdict verdict = decide_claims(claims, count, port, &expires_at_ms);
    if (verdict == NAME_SAYS_NOTHING)
        return;
    if (list->count == list->most) {
        list->leaks |= verdict == NAME_DENIES;
        return;
    }
    if (!(list->count & (list->count - 1))) /* a power of two: the list is full */
        list->items =
            xreallocarray(list->items, list->count ? list->count * 2 : 1, sizeof *list->items);
    list->items[list->count++] =
        (struct name_element){claims[0].address, port,
                              verdict == NAME_ALLOWS ? POLICY_ALLOW : POLICY_DENY, expires_at_ms};
}

static bool mentioned_before(const struct claim *claims, size_t at, uint16_t port)
{
    for (size_t i = 0; i < at; i++)
        if (rights_has_port(claims[i].rights, port))
            return true;
    return false;
}

bool names_elements(const struct names *names, int64_t now_ms, size_t most,
                    struct name_element **elements, size_t *count)
{
    autofree struct claim *claims = NULL;
    struct element_list list = {.most = most};
    size_t total = collect_claims(names, now_ms, &claims);
    for (size_t i = 0, same; i < total; i += same) {
        for (same = 1; i + same < total && claims[i + same].address == claims[i].address;)
            same++;
        for (size_t j = 0; j < same; j++)
            for (size_t k = 0; k < claims[i + j].rights->port_count; k++)
                if (!mentioned_before(claims + i, j, claims[i + j].rights->ports[k].port))
                    add_element(&list, claims + i, same, claims[i + j].rights->ports[k].port);
        add_element(&list, claims + i, same, 0);
    }
    *elements = list.items;
    *count = list.count;
    return !list.leaks;
}

enum name_verdict names_decide(const struct names *names, uint32_t address, uint16_t port)
{
    enum name_verdict verdict = NAME_SAYS_NOTHING;
    for (size_t i = 0; i < names->lookup_count; i++)
        if (rights_decide(&names->lookups[i].rights, port) == NAME_DENIES &&
            lookup_has(names->lookups[i].lookup, address))
            return NAME_DENIES;
    for (size_t i = 0; i < names->count; i++) {
        if (names->answers[i].address != address)
            continue;
        enum name_verdict one = rights_decide(&names->answers[i].rights, port);
        if (one > verdict)
            verdict = one;
    }
    return verdict;
}
