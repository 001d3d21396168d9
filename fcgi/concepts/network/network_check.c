/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "network/network_check.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define DNS_PORT     53
#define DNS_TLS_PORT 853

static void say(struct network_verdict *verdict, enum policy_verdict what, const char *reason,
                const char *format, ...) __attribute__((format(printf, 4, 5)));

static void say(struct network_verdict *verdict, enum policy_verdict what, const char *reason,
                const char *format, ...)
{
    va_list ap;
    verdict->verdict = what;
    verdict->reason = reason;
    va_start(ap, format);
    vsnprintf(verdict->message, sizeof verdict->message, format, ap);
    va_end(ap);
}

static bool is_dns_port(uint16_t port)
{
    return port == DNS_PORT || port == DNS_TLS_PORT;
}

static bool has_network_rules(const struct policy *policy)
{
    for (size_t i = 0; i < policy->count; i++)
        if (policy->rules[i].entry.kind == POLICY_NETWORK &&
            policy->rules[i].entry.network.family == POLICY_IPV4)
            return true;
    return false;
}

static void by_dns_port(struct network_verdict *verdict)
{
    say(verdict, POLICY_DENY, "name_service",
        "Ports 53 and 853 are closed: sandboxes can use only sandlot's own DNS resolver.");
}

static void by_rule(struct policy_decision decision, struct network_verdict *verdict)
{
    autofree char *entry = policy_entry_text(&decision.rule->entry);
    verdict->rule = decision.rule;
    say(verdict, decision.verdict, "entry", "The entry %.260s decides.", entry);
}

static void by_default(const struct policy *policy, struct network_verdict *verdict)
{
    verdict->asks = policy->asks;
    if (policy->asks) {
        say(verdict, POLICY_DENY, "default",
            "No entry matches; sandlot asks the team for an approval.");
        return;
    }
    bool open = policy->default_verdict == POLICY_ALLOW;
    say(verdict, policy->default_verdict, "default",
        "No entry matches; allow_internet_access is %s.", open ? "true" : "false");
}

static void check_address(const struct policy *policy, const struct protected_networks *networks,
                          const struct policy_address *address, uint16_t port,
                          struct network_verdict *verdict)
{
    const char *protected = protected_reason(networks, address);
    struct policy_decision decision = policy_decide_address(policy, address, port);
    if (address->family == POLICY_IPV6)
        say(verdict, POLICY_DENY, "ipv6", "Sandboxes have no IPv6.");
    else if (protected)
        say(verdict, POLICY_DENY, "protected_network",
            "The address is in a network that is closed for all sandboxes: %s.", protected);
    else if (is_dns_port(port))
        by_dns_port(verdict);
    else if (decision.rule)
        by_rule(decision, verdict);
    else
        by_default(policy, verdict);
}

/* The answer when no entry for names decides. */
static void undecided_name(const struct policy *policy, bool resolves,
                           struct network_verdict *verdict)
{
    by_default(policy, verdict);
    if (policy->asks)
        return;
    if (!resolves)
        say(verdict, POLICY_DENY, "default",
            "No entry matches the name, and allow_internet_access is false: the resolver refuses "
            "the name.");
    else if (has_network_rules(policy))
        say(verdict, policy->default_verdict, "default",
            "No entry for names matches, and allow_internet_access is %s. An entry for networks "
            "may decide differently about an address of the name.",
            policy->default_verdict == POLICY_ALLOW ? "true" : "false");
}

static void check_name(const struct policy *policy, const char *name, uint16_t port,
                       struct network_verdict *verdict)
{
    struct policy_decision decision = policy_decide_name(policy, name, port);
    struct policy_name found;
    policy_name_find(policy, name, &found);
    if (is_dns_port(port))
        by_dns_port(verdict);
    else if (decision.rule)
        by_rule(decision, verdict);
    else
        undecided_name(policy, found.resolves, verdict);
    policy_name_deinit(&found);
}

int network_verdict_find(const struct policy *policy, const struct protected_networks *networks,
                         const struct network_question *question, struct network_verdict *verdict,
                         struct error **err)
{
    size_t length = strlen(question->host);
    bool bracketed = length > 2 && question->host[0] == '[' && question->host[length - 1] == ']';
    autofree char *host =
        bracketed ? xstrndup(question->host + 1, length - 2) : xstrdup(question->host);
    autofree char *name = NULL;
    struct policy_address address;
    *verdict = (struct network_verdict){0};
    bool is_address = policy_address_parse(host, &address) == 0;
    if (bracketed && (!is_address || !strchr(host, ':')))
        return error_set_field(err, ERR_INVALID_REQUEST, "/host",
                               "Write an IPv6 address in brackets.");
    if (is_address) {
        check_address(policy, networks, &address, question->port, verdict);
        return 0;
    }
    if (policy_host_parse(host, &name, err) < 0) {
        (*err)->field = xstrdup("/host");
        return -1;
    }
    check_name(policy, name, question->port, verdict);
    return 0;
}
