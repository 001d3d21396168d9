/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/egress.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#define LINE_PREFIX "Sandlot-Set-"
#define LINE_MAX    64

static const char *text_of(const struct http_request *request, const char *name)
{
    const char *text = http_parameter(request, name);
    return text ? text : "";
}

static int refuse(struct http_response *response, const char *reason)
{
    response->status = 403;
    response->is_bare = true;
    http_response_header(response, "Sandlot-Reason", "%s", reason);
    return 0;
}

/* nginx asks the client in the sandbox to repeat the request. */
static int ask_again(struct http_response *response)
{
    response->status = 503;
    response->is_bare = true;
    return 0;
}

/* Count a request. Returns false when the team or the user has used its share. */
static bool has_turn(struct filter *filter, const struct filter_sandbox *sandbox)
{
    const struct tenant tenant = filter_tenant(sandbox);
    int64_t now_ms = clock_monotonic_ms();
    if (!shares_has_room(&filter->egress_requests, &tenant, now_ms))
        return false;
    shares_use(&filter->egress_requests, &tenant, 1, now_ms);
    return true;
}

/* nginx waits for a second before it asks the client to repeat the request (auth_delay). */
static int delay(struct http_response *response)
{
    response->status = 401;
    response->is_bare = true;
    return 0;
}

static bool is_protected(const struct filter *filter, uint32_t address)
{
    struct policy_address remote = policy_address_ipv4(address);
    return protected_reason(&filter->protected_networks, &remote);
}

static bool is_better(const struct lookup_address *one, const struct lookup_address *other)
{
    return !other || one->seen_at_ms > other->seen_at_ms ||
           (one->seen_at_ms == other->seen_at_ms && one->failed_at_ms < other->failed_at_ms);
}

uint32_t egress_address_of(const struct filter *filter, const char *host)
{
    const struct lookup *lookup = lookup_find(&filter->lookups, host);
    const struct lookup_address *best = NULL;
    uint32_t address = egress_proxy_address(host);
    for (size_t i = 0; lookup && i < lookup->count; i++)
        if (is_better(&lookup->addresses[i], best) &&
            !is_protected(filter, lookup->addresses[i].address))
            best = &lookup->addresses[i];
    return best ? best->address : is_protected(filter, address) ? 0 : address;
}

bool egress_is_denied(const struct policy *policy, const char *host, uint16_t port)
{
    struct policy_decision decision = policy_decide_name(policy, host, port);
    return decision.rule && decision.verdict == POLICY_DENY;
}

static void add_headers(struct http_response *response, const json_t *rule)
{
    const char *name;
    json_t *value;
    json_object_foreach (json_object_get(rule, "headers"), name, value) {
        char line[LINE_MAX];
        snprintf(line, sizeof line, LINE_PREFIX "%s", name);
        http_response_header(response, line, "%s", json_string_value(value));
    }
}

void egress_note_secret(struct filter_sandbox *sandbox, const char *name)
{
    if (!sandbox->secrets_used)
        sandbox->secrets_used = json_object();
    if (json_object_size(sandbox->secrets_used) >= EGRESS_SECRETS_MAX &&
        !json_object_get(sandbox->secrets_used, name))
        json_object_clear(sandbox->secrets_used);
    json_object_set_new(sandbox->secrets_used, name, json_integer(clock_now_ms()));
}

static void note_use(struct filter_sandbox *sandbox, const json_t *rule)
{
    size_t index;
    json_t *name;
    json_array_foreach (json_object_get(rule, "secrets"), index, name)
        egress_note_secret(sandbox, json_string_value(name));
}

static size_t place_of(const json_t *rules, const json_t *rule)
{
    size_t place = 0;
    while (place < json_array_size(rules) && json_array_get(rules, place) != rule)
        place++;
    return place;
}

/* Name the way by which nginx connects. Returns false: there is no room for one. */
static bool add_way(struct filter *filter, const struct filter_sandbox *sandbox, const json_t *rule,
                    struct http_response *response)
{
    const struct policy_wire *wire = &sandbox->wire;
    const struct way asked = {
        .sandbox = sandbox->address,
        .rules = sandbox->rules,
        .rule = place_of(json_object_get(wire->policy.egress, "rules"), rule),
        .tenant = wire->tenant,
        .user = wire->user,
    };
    int way = ways_take(&filter->ways, &asked, clock_monotonic_ms());
    if (way >= 0)
        http_response_header(response, "Sandlot-Upstream", EGRESS_WAY "%d", way);
    return way >= 0;
}

static int pass(struct filter *filter, struct filter_sandbox *sandbox, const json_t *rule,
                const struct egress_request *asked, struct http_response *response)
{
    if (!egress_address_of(filter, asked->host))
        return refuse(response, "The host has no address that a sandbox may reach.");
    if (json_object_get(rule, "query")) {
        autowipe char *target = egress_target(rule, asked->uri);
        if (!target)
            return refuse(
                response,
                "The path and query are too long, or have characters that a path cannot have.");
        http_response_header(response, "Sandlot-Target", "%s", target);
    }
    response->is_bare = true;
    if (!add_way(filter, sandbox, rule, response))
        return ask_again(response);
    add_headers(response, rule);
    note_use(sandbox, rule);
    return 0;
}

int egress_answer(void *context, struct http_request *request, struct http_response *response,
                  struct error **err)
{
    struct filter *filter = context;
    const char *reason = NULL;
    struct filter_sandbox *sandbox =
        filter_find(filter, egress_proxy_address(text_of(request, "SANDLOT_CLIENT")));
    const struct egress_request asked = {
        .sni = text_of(request, "SANDLOT_SNI"),
        .host = text_of(request, "SANDLOT_HOST"),
        .http_host = text_of(request, "SANDLOT_HTTP_HOST"),
        .port =
            str_equal(text_of(request, "SANDLOT_SCHEME"), "http") ? EGRESS_PORT_HTTP : EGRESS_PORT,
        .method = text_of(request, "SANDLOT_METHOD"),
        .uri = text_of(request, "SANDLOT_URI"),
    };
    (void)err;
    response->is_quiet = true;
    if (!sandbox || sandbox->closed)
        return refuse(response, "The address does not belong to a sandbox.");
    if (!has_turn(filter, sandbox))
        return delay(response);
    const json_t *rule = egress_decide(sandbox->wire.policy.egress, &asked, &reason);
    if (rule && egress_is_denied(&sandbox->wire.policy, asked.host, asked.port))
        reason = "The sandbox's policy denies the host.";
    if (reason && !sandbox->wire.revision) /* the rules are not loaded yet (state.c) */
        return ask_again(response);
    if (!reason)
        return pass(filter, sandbox, rule, &asked, response);
    const char *named = asked.port == EGRESS_PORT ? asked.sni : asked.host;
    if (egress_has_host(sandbox->wire.policy.egress, named, 0))
        denials_add(&sandbox->denials, DENIAL_CONNECTION, named, asked.port, "tcp", clock_now_ms());
    return refuse(response, reason);
}
