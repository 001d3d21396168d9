/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/rules.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/json_make.h"
#include "base/link_address.h"
#include "base/str.h"

#define NAME_SIZE  16
#define PORT_MAX   65535
#define PORT_CHAIN "sb"
#define ECHO_CHAIN "se"
#define ICMP_ECHO  "echo-request"
#define MS_PER_S   1000

void rules_init(struct rules *rules, const char *table)
{
    *rules = (struct rules){.table = table, .commands = json_array()};
}

void rules_deinit(struct rules *rules)
{
    json_decref(rules->commands);
    rules->commands = NULL;
}

/* --- parts of the JSON form --- */

/* Add {verb: {kind: {family, table, …members}}}; takes members. */
static void command(struct rules *rules, const char *verb, const char *kind, json_t *members)
{
    json_object_set_new(members, "family", json_string("inet"));
    json_object_set_new(members, "table", json_string(rules->table));
    json_array_append_new(rules->commands, json_pack("{s:{s:o}}", verb, kind, members));
}

static void command_named(struct rules *rules, const char *verb, const char *kind, const char *name)
{
    command(rules, verb, kind, json_pack("{s:s}", "name", name));
}

/* Add a command for elements, an array; nothing if it is empty. Takes elements. */
static void command_elements(struct rules *rules, const char *verb, const char *set,
                             json_t *elements)
{
    if (json_array_size(elements))
        command(rules, verb, "element", json_pack("{s:s, s:O}", "name", set, "elem", elements));
    json_decref(elements);
}

/* Add a rule. Takes expressions, an array. */
static void command_rule(struct rules *rules, const char *chain, json_t *expressions)
{
    command(rules, "add", "rule", json_pack("{s:s, s:o}", "chain", chain, "expr", expressions));
}

static json_t *json_address(uint32_t address)
{
    char text[POLICY_ADDRESS_TEXT_MAX];
    struct policy_address from = policy_address_ipv4(address);
    return json_string(policy_address_text(&from, text));
}

static json_t *json_range(const struct policy_range *range)
{
    char first[POLICY_ADDRESS_TEXT_MAX], last[POLICY_ADDRESS_TEXT_MAX];
    policy_address_text(&range->first, first);
    policy_address_text(&range->last, last);
    if (!strcmp(first, last))
        return json_string(first);
    return json_pack("{s:[s, s]}", "range", first, last);
}

static json_t *json_ports(unsigned first, unsigned last)
{
    if (first == last)
        return json_integer(first);
    return json_pack("{s:[i, i]}", "range", (int)first, (int)last);
}

static json_t *json_verdict(enum policy_verdict verdict)
{
    return verdict == POLICY_ALLOW ? json_pack("{s:n}", "accept")
                                   : json_pack("{s:{s:s}}", "goto", "target", "refuse");
}

static json_t *json_jump(const char *verb, const char *chain)
{
    return json_pack("{s:{s:s}}", verb, "target", chain);
}

static json_t *json_field(const char *protocol, const char *field)
{
    return json_pack("{s:{s:s, s:s}}", "payload", "protocol", protocol, "field", field);
}

/* Match left and right; takes both. */
static json_t *json_match(const char *op, json_t *left, json_t *right)
{
    return json_pack("{s:{s:s, s:o, s:o}}", "match", "op", op, "left", left, "right", right);
}

/* --- a sandbox's chains --- */

struct chain {
    struct rules *rules;
    char name[NAME_SIZE];
    const struct policy_range *ranges;
    size_t count;
    enum policy_verdict default_verdict;
    bool echo; /* no ports: only verdicts for any port */
};

static void chain_name(char name[NAME_SIZE], const char *prefix, uint32_t address)
{
    snprintf(name, NAME_SIZE, "%s_%08x", prefix, address);
}

static size_t port_count(const struct chain *chain, const struct policy_range *range)
{
    return chain->echo ? 0 : range->port_count;
}

static size_t linear_count(const struct chain *chain)
{
    size_t count = 0;
    for (size_t i = 0; i < chain->count; i++)
        count += port_count(chain, &chain->ranges[i]) +
                 (chain->ranges[i].verdict != chain->default_verdict);
    return count;
}

static void add_linear(const struct chain *chain)
{
    for (size_t i = 0; i < chain->count; i++) {
        const struct policy_range *range = &chain->ranges[i];
        for (size_t j = 0; j < port_count(chain, range); j++)
            command_rule(chain->rules, chain->name,
                         json_pack("[o, o, o]",
                                   json_match("==", json_field("ip", "daddr"), json_range(range)),
                                   json_match("==", json_field("th", "dport"),
                                              json_integer(range->ports[j].port)),
                                   json_verdict(range->ports[j].verdict)));
        if (range->verdict != chain->default_verdict)
            command_rule(chain->rules, chain->name,
                         json_pack("[o, o]",
                                   json_match("==", json_field("ip", "daddr"), json_range(range)),
                                   json_verdict(range->verdict)));
    }
}

/* Add an interval. Takes port, the second part of the key. */
static void add_interval(json_t *elements, const struct policy_range *range, json_t *port,
                         enum policy_verdict verdict)
{
    json_array_append_new(elements, json_pack("[{s:[o, o]}, o]", "concat", json_range(range), port,
                                              json_verdict(verdict)));
}

/* Add the ports of a range that have a verdict of their own. Add the gaps between them too, unless
 * the default verdict is the same. */
static void add_port_intervals(const struct chain *chain, const struct policy_range *range,
                               json_t *elements)
{
    bool gaps = range->verdict != chain->default_verdict;
    unsigned next = 0;
    for (size_t i = 0; i < range->port_count; i++) {
        unsigned port = range->ports[i].port;
        if (gaps && port > next)
            add_interval(elements, range, json_ports(next, port - 1), range->verdict);
        add_interval(elements, range, json_integer(port), range->ports[i].verdict);
        next = port + 1;
    }
    if (gaps && next <= PORT_MAX)
        add_interval(elements, range, json_ports(next, PORT_MAX), range->verdict);
}

static void add_set(const struct chain *chain)
{
    json_t *elements = json_array();
    for (size_t i = 0; i < chain->count; i++) {
        const struct policy_range *range = &chain->ranges[i];
        if (!chain->echo)
            add_port_intervals(chain, range, elements);
        else if (range->verdict != chain->default_verdict)
            add_interval(elements, range, json_string(ICMP_ECHO), range->verdict);
    }
    json_t *second = chain->echo ? json_field("icmp", "type") : json_field("th", "dport");
    command_rule(chain->rules, chain->name,
                 json_pack("[{s:{s:{s:[o, o]}, s:{s:o}}}]", "vmap", "key", "concat",
                           json_field("ip", "daddr"), second, "data", "set", elements));
}

static void add_mark(const struct chain *chain, uint32_t address)
{
    json_int_t mark = address & MARK_SANDBOX;
    json_t *bits =
        json_pack("{s:[{s:{s:s}}, I]}", "&", "ct", "key", "mark", (json_int_t)MARK_SANDBOX);
    command_rule(chain->rules, chain->name,
                 json_pack("[o, {s:{s:{s:{s:s}}, s:I}}]",
                           json_match("!=", bits, json_integer(mark)), "mangle", "key", "ct", "key",
                           "mark", "value", mark));
}

static bool has_names(const struct policy *policy)
{
    for (size_t i = 0; i < policy->count; i++)
        if (policy->rules[i].entry.kind != POLICY_NETWORK)
            return true;
    return false;
}

static void write_chain(struct chain *chain, uint32_t address, const struct policy *policy)
{
    struct rules *rules = chain->rules;
    chain_name(chain->name, chain->echo ? ECHO_CHAIN : PORT_CHAIN, address);
    command_named(rules, "add", "chain", chain->name);
    command_named(rules, "flush", "chain", chain->name);
    add_mark(chain, address);
    if (has_names(policy))
        command_rule(rules, chain->name,
                     json_pack("[o]", json_jump("jump", chain->echo ? "echo_by_name" : "by_name")));
    if (linear_count(chain) <= RULES_LINEAR_MAX)
        add_linear(chain);
    else
        add_set(chain);
    command_rule(rules, chain->name, json_pack("[o]", json_verdict(policy->default_verdict)));
}

/* Delete elements; missing ones are no error. nftables has no command for this before 1.0.7, so
 * they are added first. */
static void remove_elements(struct rules *rules, const char *set, json_t *elements)
{
    command_elements(rules, "add", set, json_incref(elements));
    command_elements(rules, "delete", set, elements);
}

/* Return the address with the only Ethernet address that may send from it. */
static json_t *link_element(uint32_t address)
{
    char link[LINK_ADDRESS_SIZE];
    return json_pack("[{s:[o, s]}]", "concat", json_address(address), link_address(address, link));
}

static json_t *map_element(uint32_t address, const char *chain)
{
    return json_pack("[[o, o]]", json_address(address), json_jump("goto", chain));
}

/* Put an address into a set, or take it out. */
static void set_member(struct rules *rules, const char *set, uint32_t address, bool is_in)
{
    json_t *elements = json_pack("[o]", json_address(address));
    if (is_in)
        command_elements(rules, "add", set, elements);
    else
        remove_elements(rules, set, elements);
}

void rules_sandbox_ended(struct rules *rules, uint32_t address)
{
    set_member(rules, "gone", address, false);
}

void rules_sandbox(struct rules *rules, uint32_t address, const struct policy *policy)
{
    struct policy_range *ranges = NULL;
    struct chain chain = {.rules = rules, .default_verdict = policy->default_verdict};
    policy_ranges(policy, POLICY_IPV4, &ranges, &chain.count);
    chain.ranges = ranges;
    write_chain(&chain, address, policy);
    command_elements(rules, "add", "egress", map_element(address, chain.name));
    chain.echo = true;
    write_chain(&chain, address, policy);
    command_elements(rules, "add", "egress_echo", map_element(address, chain.name));
    command_elements(rules, "add", "links", link_element(address));
    rules_sandbox_ended(rules, address);
    policy_ranges_free(ranges, chain.count);
    set_member(rules, "proxied", address, policy->egress);
    set_member(rules, "outlets", address, policy->proxy);
}

/* The two halves of a number are as good as the whole. */
static json_t *tenant_element(uint32_t address, uint64_t number)
{
    return json_pack("[[o, I]]", json_address(address),
                     (json_int_t)(uint32_t)(number ^ number >> 32));
}

static json_t *source_element(uint32_t address, uint32_t source)
{
    return json_pack("[[o, o]]", json_address(address), json_address(source));
}

void rules_tenants(struct rules *rules, const struct sources *sources, uint32_t address,
                   const struct policy_wire *old, const struct policy_wire *fresh)
{
    uint32_t before = sources_of(sources, old->tenant),
             source = fresh ? sources_of(sources, fresh->tenant) : 0;
    if (before)
        remove_elements(rules, "sources", source_element(address, before));
    if (source)
        command_elements(rules, "add", "sources", source_element(address, source));
    if (old->policy.egress || old->policy.proxy) {
        remove_elements(rules, "teams", tenant_element(address, old->tenant));
        remove_elements(rules, "users", tenant_element(address, old->user));
    }
    if (fresh && (fresh->policy.egress || fresh->policy.proxy)) {
        command_elements(rules, "add", "teams", tenant_element(address, fresh->tenant));
        command_elements(rules, "add", "users", tenant_element(address, fresh->user));
    }
}

static const struct {
    const char *prefix, *map;
} kinds[] = {{PORT_CHAIN, "egress"}, {ECHO_CHAIN, "egress_echo"}};

void rules_close(struct rules *rules, uint32_t address)
{
    set_member(rules, "proxied", address, false);
    set_member(rules, "outlets", address, false);
    for (size_t i = 0; i < 2; i++) {
        char name[NAME_SIZE];
        chain_name(name, kinds[i].prefix, address);
        remove_elements(rules, kinds[i].map, map_element(address, name));
    }
}

void rules_sandbox_remove(struct rules *rules, uint32_t address)
{
    set_member(rules, "proxied", address, false);
    set_member(rules, "outlets", address, false);
    remove_elements(rules, "links", link_element(address));
    set_member(rules, "gone", address, true);
    for (size_t i = 0; i < 2; i++) {
        char name[NAME_SIZE];
        chain_name(name, kinds[i].prefix, address);
        remove_elements(rules, kinds[i].map, map_element(address, name));
        command_named(rules, "flush", "chain", name);
        command_named(rules, "delete", "chain", name);
    }
}

/* --- names --- */

#define NAME_SETS 4
static const char *const name_sets[NAME_SETS] = {"denied", "denied_port", "named", "named_port"};

static size_t set_of(const struct name_element *element)
{
    return (element->verdict == POLICY_ALLOW ? 2 : 0) + (element->port ? 1 : 0);
}

static json_t *name_key(uint32_t sandbox, const struct name_element *element)
{
    json_t *parts = json_pack("[o, o]", json_address(sandbox), json_address(element->address));
    if (element->port)
        json_array_append_new(parts, json_integer(element->port));
    return json_pack("{s:o}", "concat", parts);
}

static json_t *name_element_json(uint32_t sandbox, const struct name_element *element,
                                 int64_t now_ms)
{
    json_t *key = name_key(sandbox, element);
    if (!element->expires_at_ms)
        return key;
    int64_t left_ms = element->expires_at_ms - now_ms;
    int64_t timeout_s = left_ms > 0 ? (left_ms + MS_PER_S - 1) / MS_PER_S : 1;
    return json_pack("{s:{s:o, s:I}}", "elem", "val", key, "timeout", (json_int_t)timeout_s);
}

void rules_names(struct rules *rules, uint32_t sandbox, const struct name_element *old,
                 size_t old_count, const struct name_element *fresh, size_t fresh_count,
                 int64_t now_ms)
{
    for (size_t set = 0; set < NAME_SETS; set++) {
        json_t *gone = json_array(), *come = json_array();
        for (size_t i = 0; i < old_count; i++)
            if (set_of(&old[i]) == set)
                json_array_append_new(gone, name_key(sandbox, &old[i]));
        for (size_t i = 0; i < fresh_count; i++)
            if (set_of(&fresh[i]) == set)
                json_array_append_new(come, name_element_json(sandbox, &fresh[i], now_ms));
        remove_elements(rules, name_sets[set], gone);
        command_elements(rules, "add", name_sets[set], come);
    }
}

/* --- all sandboxes --- */

void rules_close_all(struct rules *rules)
{
    command_named(rules, "flush", "map", "egress");
    command_named(rules, "flush", "map", "egress_echo");
    command_named(rules, "flush", "set", "proxied");
    command_named(rules, "flush", "set", "outlets");
    command_named(rules, "flush", "set", "links");
    command_named(rules, "flush", "map", "teams");
    command_named(rules, "flush", "map", "users");
    command_named(rules, "flush", "map", "sources");
    for (size_t set = 0; set < NAME_SETS; set++)
        command_named(rules, "flush", "set", name_sets[set]);
}

void rules_list_chains(struct rules *rules)
{
    json_array_append_new(rules->commands,
                          json_pack("{s:{s:{s:s}}}", "list", "chains", "family", "inet"));
}

void rules_drop_chains(struct rules *rules, const json_t *listed)
{
    size_t index;
    json_t *item;
    json_array_foreach ((json_t *)listed, index, item) {
        json_t *chain = json_object_get(item, "chain");
        const char *name = json_string_value(json_object_get(chain, "name"));
        if (!name || !str_equal(json_string_value(json_object_get(chain, "table")), rules->table) ||
            (!str_starts_with(name, PORT_CHAIN "_") && !str_starts_with(name, ECHO_CHAIN "_")))
            continue;
        command_named(rules, "flush", "chain", name);
        command_named(rules, "delete", "chain", name);
    }
}

void rules_never(struct rules *rules, const struct policy_range *ranges, size_t count)
{
    json_t *elements = JSON_LIST(ranges, count, json_range);
    command_named(rules, "flush", "set", "never");
    command_elements(rules, "add", "never", elements);
}
