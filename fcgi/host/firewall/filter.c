/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/filter.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "firewall/certificates.h"
#include "firewall/element_room.h"
#include "firewall/stale_flows.h"
#include "firewall/state.h"

#define DNS_PORT     53
#define DNS_TLS_PORT 853
#define QUIC_PORT    443
/* Denied names of a sandbox that no other policy denies: the burst, and the rate for each second.
 * Each causes a question to the upstream at once. */
#define NEW_WATCHES_BURST 1024
#define NEW_WATCHES_PER_S 4
/* The least time between two changes of a sandbox's sets because of new addresses. The owners of
 * denied names decide how often these change. */
#define NAMES_APPLY_MS 2000
/* All sandboxes wait for the lock meanwhile, and each change reads the connection table twice. */
#define APPLY_TURN_MS 20

/* --- open and close --- */

static int open_parts(struct filter *filter, struct error **err)
{
    const struct settings *settings = filter->settings;
    if (protected_open(&filter->protected_networks, settings->protected_networks_open, err) < 0 ||
        sources_read(&filter->sources, settings->egress_addresses, err) < 0 ||
        kernel_open(&filter->kernel, err) < 0 ||
        flows_open(settings->firewall_tun, &filter->flows, err) < 0)
        return -1;
    filter->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return filter->wake_fd < 0 ? error_set(err, ERR_CONFIG, "cannot create an eventfd") : 0;
}

int filter_open(const struct settings *settings, struct filter **filter, struct error **err)
{
    struct filter *fresh = xcalloc(1, sizeof *fresh);
    fresh->pending =
        (struct places){.most = FILTER_PENDING_MAX, .most_of_tenant = FILTER_PENDING_TEAM_MAX};
    fresh->egress_requests.per_s = FILTER_EGRESS_PER_S;
    fresh->settings = settings;
    fresh->started_at_ms = clock_now_ms();
    fresh->wake_fd = -1;
    pthread_mutex_init(&fresh->lock, NULL);
    if (open_parts(fresh, err) < 0) {
        filter_close(fresh);
        return -1;
    }
    *filter = fresh;
    return 0;
}

static void release_lookups(struct filter *filter, struct names *names)
{
    for (size_t i = 0; i < names->lookup_count; i++) {
        lookup_release(&filter->lookups, names->lookups[i].lookup);
        name_rights_deinit(&names->lookups[i].rights);
    }
    free(names->lookups);
    names->lookups = NULL;
    names->lookup_count = 0;
}

static void sandbox_free(struct filter *filter, struct filter_sandbox *sandbox)
{
    release_lookups(filter, &sandbox->names);
    names_deinit(&sandbox->names);
    policy_wire_deinit(&sandbox->wire);
    json_decref(sandbox->secrets_used);
    approval_entries_deinit(&sandbox->asks);
    free(sandbox->elements);
    free(sandbox);
}

void filter_close(struct filter *filter)
{
    for (size_t i = 0; i < FILTER_BUCKETS; i++) {
        struct filter_sandbox *next;
        for (struct filter_sandbox *sandbox = filter->buckets[i]; sandbox; sandbox = next) {
            next = sandbox->next;
            sandbox_free(filter, sandbox);
        }
    }
    free(filter->ended.addresses);
    kernel_close(filter->kernel);
    flows_close(filter->flows);
    if (filter->wake_fd >= 0)
        close(filter->wake_fd);
    pthread_mutex_destroy(&filter->lock);
    free(filter);
}

void filter_lock(struct filter *filter)
{
    pthread_mutex_lock(&filter->lock);
}

void filter_unlock(struct filter *filter)
{
    pthread_mutex_unlock(&filter->lock);
}

/* --- sandboxes by address --- */

static struct filter_sandbox **bucket_of(struct filter *filter, uint32_t address)
{
    return &filter->buckets[address % FILTER_BUCKETS];
}

struct filter_sandbox *filter_find(struct filter *filter, uint32_t address)
{
    struct filter_sandbox *sandbox = *bucket_of(filter, address);
    while (sandbox && sandbox->address != address)
        sandbox = sandbox->next;
    return sandbox;
}

static struct filter_sandbox *add_sandbox(struct filter *filter, uint32_t address)
{
    struct filter_sandbox **bucket = bucket_of(filter, address);
    struct filter_sandbox *sandbox = xcalloc(1, sizeof *sandbox);
    sandbox->address = address;
    sandbox->next = *bucket;
    *bucket = sandbox;
    filter->count++;
    return sandbox;
}

static void remove_sandbox(struct filter *filter, struct filter_sandbox *sandbox)
{
    struct filter_sandbox **link = bucket_of(filter, sandbox->address);
    while (*link != sandbox)
        link = &(*link)->next;
    *link = sandbox->next;
    filter->count--;
    filter->element_count -= sandbox->element_count;
    sandbox_free(filter, sandbox);
}

/* --- denied names --- */

/* Use a lookup, or create it. fresh: the rate for new lookups; NULL: no limit. */
static struct lookup *use_lookup(struct filter *filter, const char *name, struct rate *fresh,
                                 struct error **err)
{
    if (fresh && !lookup_find(&filter->lookups, name) &&
        !rate_take(fresh, NEW_WATCHES_BURST, NEW_WATCHES_PER_S, clock_monotonic_ms())) {
        error_set(err, ERR_RATE_LIMITED,
                  "cannot deny %s yet: the sandbox denied too many new names in a short time",
                  name);
        return NULL;
    }
    struct lookup *lookup = lookup_use(&filter->lookups, name);
    if (!lookup)
        error_set(err, ERR_RATE_LIMITED,
                  "cannot deny %s, because this host looks up %d denied names already", name,
                  LOOKUPS_MAX);
    return lookup;
}

static int add_lookup(struct filter *filter, const char *name, struct names *names,
                      struct rate *fresh, struct error **err)
{
    struct name_lookup lookup = {use_lookup(filter, name, fresh, err), {0}};
    if (!lookup.lookup)
        return -1;
    if (names_lookup(names, lookup.lookup)) { /* used for several ports or rules */
        lookup_release(&filter->lookups, lookup.lookup);
        return 0;
    }
    names->lookups = xreallocarray(names->lookups, names->lookup_count + 1, sizeof *names->lookups);
    names->lookups[names->lookup_count++] = lookup;
    return 0;
}

/* Use a lookup for each host with egress rules and for the egress proxy, so that their addresses
 * are known when a connection comes. The lookups give no rights. */
static int lookup_egress(struct filter *filter, const struct policy *policy, struct names *names,
                         struct rate *fresh, struct error **err)
{
    size_t index;
    json_t *rule;
    json_array_foreach (json_object_get(policy->egress, "rules"), index, rule) {
        if (add_lookup(filter, json_string_value(json_object_get(rule, "host")), names, fresh,
                       err) < 0)
            return -1;
    }
    const char *proxy = json_string_value(json_object_get(policy->proxy, "host"));
    return !proxy || egress_proxy_address(proxy) ? 0 : add_lookup(filter, proxy, names, fresh, err);
}

/* Use a lookup for each name that the policy denies on any port. Errors: ERR_RATE_LIMITED; names
 * then has some of the lookups. */
static int lookup_denied(struct filter *filter, const struct policy *policy, struct names *names,
                         struct rate *fresh, struct error **err)
{
    for (size_t i = 0; i < policy->count; i++) {
        const struct policy_entry *entry = &policy->rules[i].entry;
        if (entry->kind != POLICY_HOST || policy->rules[i].verdict != POLICY_DENY)
            continue;
        size_t before = names->lookup_count;
        if (add_lookup(filter, entry->name, names, fresh, err) < 0)
            return -1;
        if (names->lookup_count > before)
            name_rights_find(policy, entry->name, &names->lookups[before].rights);
    }
    return lookup_egress(filter, policy, names, fresh, err);
}

void filter_wake(const struct filter *filter)
{
    uint64_t one = 1;
    if (write(filter->wake_fd, &one, sizeof one) < 0)
        log_debug("eventfd is full");
}

static bool watches_answered(const struct names *names)
{
    for (size_t i = 0; i < names->lookup_count; i++)
        if (!names->lookups[i].lookup->answered)
            return false;
    return true;
}

/* --- allowed flows --- */

struct flow_question {
    const struct filter *filter;
    const struct policy *policy;
    const struct names *names;
    int64_t now_ms;
};

static bool answer_holds(const struct names *names, uint32_t address, int64_t now_ms)
{
    for (size_t i = 0; i < names->count; i++)
        if (names->answers[i].address == address && names->answers[i].expires_at_ms > now_ms)
            return true;
    return false;
}

/* Decide about a flow, like the chain by_name and the chains of the sandbox. */
static bool flow_is_allowed(void *context, const struct flow *flow)
{
    const struct flow_question *question = context;
    struct policy_address remote = policy_address_ipv4(flow->remote);
    uint16_t port = flow->protocol == IPPROTO_ICMP ? 0 : flow->remote_port;
    if (flow->remote == FILTER_RESOLVER)
        return true;
    if (!(flow->mark & MARK_OUTLET) != !question->policy->proxy)
        return false;
    if (protected_reason(&question->filter->protected_networks, &remote) || port == DNS_PORT ||
        port == DNS_TLS_PORT)
        return false;
    enum name_verdict named = names_decide(question->names, flow->remote, port);
    bool quic = flow->protocol == IPPROTO_UDP && port == QUIC_PORT;
    if (named == NAME_DENIES)
        return false;
    if (named == NAME_ALLOWS && !quic &&
        ((flow->mark & MARK_NAMED) ||
         answer_holds(question->names, flow->remote, question->now_ms)))
        return true;
    return policy_decide_address(question->policy, &remote, port).verdict == POLICY_ALLOW;
}

bool filter_allows(const struct filter *filter, const struct filter_sandbox *sandbox,
                   const struct flow *flow)
{
    struct flow_question question = {filter, &sandbox->wire.policy, &sandbox->names,
                                     clock_now_ms()};
    return flow_is_allowed(&question, flow);
}

/* Cut the flows that a policy forbids. This is called before and after the policy is applied. A
 * packet that the new rules reset closes the flow in the kernel, and then its other end cannot be
 * notified. Therefore present flows are cut first. Flows that start before the rules apply are cut
 * afterwards. */
static void cut_forbidden(struct filter *filter, uint32_t address, const struct policy_wire *wire,
                          const struct names *names)
{
    error_auto err = NULL;
    size_t cut = 0;
    struct flow_question question = {filter, &wire->policy, names, clock_now_ms()};
    if (flows_cut(filter->flows, address, flow_is_allowed, &question, &cut, &err) < 0)
        log_error("cannot cut connections that the new policy forbids",
                  LOG_STR("sandbox", wire->sandbox_id), LOG_ERROR(err));
    else if (cut)
        log_info("connections cut", LOG_STR("sandbox", wire->sandbox_id), LOG_INT("count", cut));
}

/* --- putting a policy in force --- */

static bool same_element(const struct name_element *a, const struct name_element *b)
{
    return a->address == b->address && a->port == b->port && a->verdict == b->verdict &&
           a->expires_at_ms == b->expires_at_ms;
}

/* Return whether a list, in order of address, has an element. */
static bool holds_element(const struct name_element *list, size_t count,
                          const struct name_element *element)
{
    size_t low = 0;
    for (size_t high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].address < element->address)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < count && list[low].address == element->address; low++)
        if (same_element(&list[low], element))
            return true;
    return false;
}

/* Collect the elements of the first list that the second does not have. */
static size_t only_in(const struct name_element *list, size_t count,
                      const struct name_element *other, size_t other_count,
                      struct name_element **out)
{
    size_t found = 0;
    *out = xcalloc(count + 1, sizeof **out);
    for (size_t i = 0; i < count; i++)
        if (!holds_element(other, other_count, &list[i]))
            (*out)[found++] = list[i];
    return found;
}

/* Add the commands that update the kernel's sets. *fresh: the new contents, which the caller stores
 * when the kernel has them. Errors: ERR_RATE_LIMITED: the denied elements do not fit. */
static int change_elements(struct rules *rules, const struct filter_sandbox *sandbox,
                           const struct names *names, size_t most, struct name_element **fresh,
                           size_t *fresh_count, struct error **err)
{
    autofree struct name_element *gone = NULL, *come = NULL;
    int64_t now_ms = clock_now_ms();
    if (!names_elements(names, now_ms, most, fresh, fresh_count))
        return error_set(err, ERR_RATE_LIMITED,
                         "the denied names have more than %zu addresses and ports", most);
    size_t count = *fresh_count;
    size_t gone_count = only_in(sandbox->elements, sandbox->element_count, *fresh, count, &gone);
    size_t come_count = only_in(*fresh, count, sandbox->elements, sandbox->element_count, &come);
    rules_names(rules, sandbox->address, gone, gone_count, come, come_count, now_ms);
    return 0;
}

static void store_elements(struct filter *filter, struct filter_sandbox *sandbox,
                           struct name_element **fresh, size_t count)
{
    filter->element_count += count - sandbox->element_count;
    free(sandbox->elements);
    sandbox->elements = steal_pointer(fresh);
    sandbox->element_count = count;
}

/* Apply the names of a sandbox. Errors: those of change_elements() and kernel_run(); then nothing
 * has changed. */
static int apply_names(struct filter *filter, struct filter_sandbox *sandbox, struct error **err)
{
    rules_auto rules = {0};
    autofree struct name_element *fresh = NULL;
    rules_init(&rules, filter->settings->firewall_table);
    size_t count, most = element_room(filter, sandbox, &sandbox->wire);
    if (change_elements(&rules, sandbox, &sandbox->names, most, &fresh, &count, err) < 0)
        return -1;
    if (json_array_size(rules.commands) && kernel_run(filter->kernel, rules.commands, err) < 0)
        return -1;
    store_elements(filter, sandbox, &fresh, count);
    return 0;
}

static bool same_sandbox(const struct filter_sandbox *sandbox, const char *sandbox_id)
{
    return sandbox->wire.sandbox_id && !strcmp(sandbox->wire.sandbox_id, sandbox_id);
}

/* Apply a policy with the remaining names. On success they belong to the sandbox. */
static int apply_policy(struct filter *filter, struct filter_sandbox *sandbox,
                        struct policy_wire *wire, struct names *names, struct error **err)
{
    rules_auto rules = {0};
    autofree struct name_element *fresh = NULL;
    rules_init(&rules, filter->settings->firewall_table);
    rules_sandbox(&rules, sandbox->address, &wire->policy);
    rules_tenants(&rules, &filter->sources, sandbox->address, &sandbox->wire, wire);
    size_t count, most = element_room(filter, sandbox, wire);
    if (change_elements(&rules, sandbox, names, most, &fresh, &count, err) < 0 ||
        kernel_run(filter->kernel, rules.commands, err) < 0)
        return -1;
    store_elements(filter, sandbox, &fresh, count);
    sandbox->closed = false;
    return 0;
}

/* Close a sandbox, because its denied names do not fit. The list of policies then lacks it, so the
 * control plane sends the policy again, until one fits. */
static void close_sandbox(struct filter *filter, struct filter_sandbox *sandbox)
{
    rules_auto rules = {0};
    error_auto err = NULL;
    size_t cut;
    rules_init(&rules, filter->settings->firewall_table);
    rules_close(&rules, sandbox->address);
    sandbox->closed = true;
    if (kernel_run(filter->kernel, rules.commands, &err) < 0 ||
        flows_cut(filter->flows, sandbox->address, NULL, NULL, &cut, &err) < 0)
        log_error("cannot close the network of a sandbox",
                  LOG_STR("sandbox", sandbox->wire.sandbox_id), LOG_ERROR(err));
}

/* Copy the answers that the new policy allows. Errors: those of lookup_denied(). The names must be
 * released in any case. */
static int names_under(struct filter *filter, struct filter_sandbox *sandbox,
                       const struct policy_wire *wire, struct names *names, struct error **err)
{
    *names = (struct names){0};
    if (same_sandbox(sandbox, wire->sandbox_id))
        for (size_t i = 0; i < sandbox->names.count; i++) {
            const struct name_answer *answer = &sandbox->names.answers[i];
            names_answered(names, &wire->policy, answer->name, answer->address,
                           answer->expires_at_ms);
        }
    names_apply(names, &wire->policy);
    return lookup_denied(filter, &wire->policy, names, &sandbox->new_lookups, err);
}

static void take_policy(struct filter *filter, struct filter_sandbox *sandbox,
                        struct policy_wire *wire, struct names *names)
{
    release_lookups(filter, &sandbox->names);
    names_deinit(&sandbox->names);
    if (!same_sandbox(sandbox, wire->sandbox_id)) {
        sandbox->denials = (struct denials){.count = 0};
        sandbox->waiting = 0; /* on_result() counts down for the sandbox that has asked alone */
        approval_entries_deinit(&sandbox->asks);
        json_decref(sandbox->secrets_used);
        sandbox->secrets_used = NULL;
    }
    bool other_way = !same_sandbox(sandbox, wire->sandbox_id) ||
                     !json_equal(sandbox->wire.policy.proxy, wire->policy.proxy);
    if (other_way)
        sandbox->way = ++filter->last_way;
    if (other_way || !json_equal(sandbox->wire.policy.egress, wire->policy.egress))
        sandbox->rules = ++filter->last_way;
    policy_wire_deinit(&sandbox->wire);
    sandbox->wire = *wire;
    sandbox->names = *names;
    *wire = (struct policy_wire){0};
    *names = (struct names){0};
}

/* Apply the new addresses of denied names. */
static void apply_changed(struct filter *filter, struct filter_sandbox *sandbox)
{
    error_auto err = NULL;
    sandbox->names_changed = false;
    sandbox->names_applied_at_ms = clock_monotonic_ms();
    if (sandbox->closed)
        return;
    cut_forbidden(filter, sandbox->address, &sandbox->wire, &sandbox->names);
    if (apply_names(filter, sandbox, &err) < 0) {
        log_error("cannot apply the denied names of a sandbox; closing its network",
                  LOG_STR("sandbox", sandbox->wire.sandbox_id), LOG_ERROR(err));
        close_sandbox(filter, sandbox);
        return;
    }
    cut_forbidden(filter, sandbox->address, &sandbox->wire, &sandbox->names);
}

static int check_wire(const struct filter *filter, const struct policy_wire *wire,
                      struct error **err)
{
    const struct filter_sandbox *sandbox = filter_find((struct filter *)filter, wire->address);
    if (sandbox && same_sandbox(sandbox, wire->sandbox_id) &&
        sandbox->wire.revision > wire->revision)
        return error_set(
            err, ERR_STALE_REVISION, "revision %llu of the policy is applied, and %llu is older",
            (unsigned long long)sandbox->wire.revision, (unsigned long long)wire->revision);
    if (!policy_fits(filter, sandbox, wire))
        return error_set(err, ERR_RATE_LIMITED,
                         "the policies of this team or user take too much memory on this host");
    return 0;
}

/* The flows of the address that a new policy may have to cut. */
enum to_cut { CUT_NONE, CUT_FORBIDDEN, CUT_ALL };

/* Decide which flows to cut. Flows that were checked under the same revision are not checked
 * again. */
static enum to_cut what_to_cut(const struct filter_sandbox *sandbox, const struct policy_wire *wire,
                               bool is_new)
{
    if (!sandbox->wire.sandbox_id)
        return is_new ? CUT_NONE : CUT_FORBIDDEN;
    if (!same_sandbox(sandbox, wire->sandbox_id))
        return CUT_ALL;
    return sandbox->wire.revision == wire->revision && !sandbox->closed ? CUT_NONE : CUT_FORBIDDEN;
}

static void cut_all(struct filter *filter, const struct filter_sandbox *sandbox)
{
    error_auto err = NULL;
    size_t cut;
    if (flows_cut(filter->flows, sandbox->address, NULL, NULL, &cut, &err) < 0)
        log_error("cannot cut connections of the previous sandbox of an address",
                  LOG_STR("sandbox", sandbox->wire.sandbox_id), LOG_ERROR(err));
}

int filter_put(struct filter *filter, struct policy_wire *wire, bool is_new, struct error **err)
{
    struct names names;
    int64_t started_ms = clock_monotonic_ms();
    uint32_t address = wire->address;
    bool was_cut;
    if (check_wire(filter, wire, err) < 0 ||
        stale_flows_cut_now(filter, address, &was_cut, err) < 0)
        return -1;
    struct filter_sandbox *sandbox = filter_find(filter, address);
    bool added = !sandbox;
    if (added)
        sandbox = add_sandbox(filter, address);
    enum to_cut to_cut = what_to_cut(sandbox, wire, is_new || was_cut);
    int result = names_under(filter, sandbox, wire, &names, err);
    if (result == 0 && to_cut == CUT_FORBIDDEN)
        cut_forbidden(filter, address, wire, &names);
    if (result < 0 || apply_policy(filter, sandbox, wire, &names, err) < 0) {
        release_lookups(filter, &names);
        names_deinit(&names);
        if (added)
            remove_sandbox(filter, sandbox);
        return -1;
    }
    if (to_cut == CUT_ALL)
        cut_all(filter, sandbox);
    certificates_change(filter->settings->firewall_certificates_dir, address,
                        sandbox->wire.policy.egress, wire->policy.egress);
    take_policy(filter, sandbox, wire, &names);
    /* An address without a policy was closed, so no flow has started since the first cut. */
    if (to_cut == CUT_FORBIDDEN && !added)
        cut_forbidden(filter, address, &sandbox->wire, &sandbox->names);
    if (state_save(filter->settings->firewall_state_dir, sandbox, err) < 0)
        return -1;
    sandbox->dirty = false;
    log_info("network policy applied", LOG_STR("sandbox", sandbox->wire.sandbox_id),
             LOG_INT("revision", sandbox->wire.revision),
             LOG_INT("rules", sandbox->wire.policy.count),
             LOG_INT("duration_ms", clock_monotonic_ms() - started_ms));
    if (!watches_answered(&sandbox->names))
        filter_wake(filter);
    return 0;
}

/* Many requests of all teams wait here at the same time, so none may delay the others. In the
 * meantime, the sandbox may have been replaced or deleted. */
int filter_put_end(struct filter *filter, const struct filter_put *put, bool *ended,
                   struct error **err)
{
    struct filter_sandbox *sandbox = filter_find(filter, put->address);
    *ended = true;
    if (!sandbox || !same_sandbox(sandbox, put->sandbox_id) ||
        sandbox->wire.revision != put->revision)
        return 0;
    if (!watches_answered(&sandbox->names)) {
        *ended = deadline_passed(put->until);
        if (!*ended)
            return 0;
        log_warning("cannot resolve the denied names of a sandbox yet; trying again",
                    LOG_STR("sandbox", sandbox->wire.sandbox_id));
    }
    if (sandbox->names_changed)
        apply_changed(filter, sandbox);
    return sandbox->closed ? error_set(err, ERR_RATE_LIMITED,
                                       "the denied names have too many addresses to be denied one "
                                       "by one: the sandbox is closed")
                           : 0;
}

int filter_delete(struct filter *filter, uint32_t address, const char *sandbox_id,
                  struct error **err)
{
    rules_auto rules = {0};
    struct filter_sandbox *sandbox = filter_find(filter, address);
    if (!sandbox || !same_sandbox(sandbox, sandbox_id))
        return 0;
    rules_init(&rules, filter->settings->firewall_table);
    rules_sandbox_remove(&rules, address);
    rules_tenants(&rules, &filter->sources, address, &sandbox->wire, NULL);
    rules_names(&rules, address, sandbox->elements, sandbox->element_count, NULL, 0, 0);
    if (kernel_run(filter->kernel, rules.commands, err) < 0 ||
        stale_flows_add(filter, address, err) < 0)
        return -1;
    log_info("network policy removed", LOG_STR("sandbox", sandbox_id));
    certificates_change(filter->settings->firewall_certificates_dir, address,
                        sandbox->wire.policy.egress, NULL);
    remove_sandbox(filter, sandbox);
    return 0;
}

int filter_ended(struct filter *filter, uint32_t address, const char *sandbox_id,
                 struct error **err)
{
    rules_auto rules = {0};
    if (filter_delete(filter, address, sandbox_id, err) < 0)
        return -1;
    if (filter_find(filter, address)) /* another sandbox has the address */
        return 0;
    rules_init(&rules, filter->settings->firewall_table);
    rules_sandbox_ended(&rules, address);
    return kernel_run(filter->kernel, rules.commands, err);
}

/* --- asking --- */

void filter_ask_name(struct filter_sandbox *sandbox, const char *name)
{
    const struct policy *policy = &sandbox->wire.policy;
    error_auto ignored = NULL;
    autofree char *host = NULL;
    struct policy_name found;
    if (!policy->asks || policy_host_parse(name, &host, &ignored) < 0)
        return;
    policy_name_find(policy, name, &found);
    if (!found.listed)
        approval_entries_add(&sandbox->asks, host, clock_monotonic_ms());
    policy_name_deinit(&found);
}

/* Return the entry for a connection: by the name that the sandbox got the address for, if there is
 * one. */
static char *entry_for(const struct names *names, uint32_t address, uint16_t port)
{
    char text[POLICY_ADDRESS_TEXT_MAX];
    struct policy_address from = policy_address_ipv4(address);
    for (size_t i = 0; i < names->count; i++)
        if (names->answers[i].address == address)
            return xasprintf("%s:%u", names->answers[i].name, port);
    return xasprintf("%s:%u", policy_address_text(&from, text), port);
}

void filter_ask_connection(const struct filter *filter, struct filter_sandbox *sandbox,
                           uint32_t address, uint16_t port)
{
    const struct policy *policy = &sandbox->wire.policy;
    struct policy_address remote = policy_address_ipv4(address);
    if (!policy->asks || !port || port == DNS_PORT || port == DNS_TLS_PORT ||
        protected_reason(&filter->protected_networks, &remote) ||
        names_decide(&sandbox->names, address, port) != NAME_SAYS_NOTHING ||
        policy_decide_address(policy, &remote, port).rule)
        return;
    autofree char *entry = entry_for(&sandbox->names, address, port);
    approval_entries_add(&sandbox->asks, entry, clock_monotonic_ms());
}

/* --- all sandboxes --- */

static int close_all(struct filter *filter, struct rules *rules, struct error **err)
{
    rules_auto list = {0};
    json_auto_t *chains = NULL;
    rules_init(&list, filter->settings->firewall_table);
    rules_list_chains(&list);
    if (kernel_query(filter->kernel, list.commands, &chains, err) < 0)
        return -1;
    rules_close_all(rules);
    rules_drop_chains(rules, chains);
    return 0;
}

static void add_never(const struct filter *filter, struct rules *rules)
{
    struct policy_range *ranges = NULL;
    size_t count;
    protected_ranges(&filter->protected_networks, POLICY_IPV4, &ranges, &count);
    rules_never(rules, ranges, count);
    policy_ranges_free(ranges, count);
}

int filter_apply_all(struct filter *filter, struct error **err)
{
    rules_auto rules = {0};
    int64_t now_ms = clock_now_ms();
    rules_init(&rules, filter->settings->firewall_table);
    if (close_all(filter, &rules, err) < 0)
        return -1;
    add_never(filter, &rules);
    for (size_t i = 0; i < FILTER_BUCKETS; i++)
        for (struct filter_sandbox *sandbox = filter->buckets[i]; sandbox;
             sandbox = sandbox->next) {
            struct name_element *fresh;
            size_t count, most = element_room(filter, sandbox, &sandbox->wire);
            rules_sandbox(&rules, sandbox->address, &sandbox->wire.policy);
            rules_tenants(&rules, &filter->sources, sandbox->address, &(struct policy_wire){0},
                          &sandbox->wire);
            if (!names_elements(&sandbox->names, now_ms, most, &fresh, &count))
                sandbox->closed = true;
            if (sandbox->closed)
                rules_close(&rules, sandbox->address);
            rules_names(&rules, sandbox->address, NULL, 0, fresh, count, now_ms);
            store_elements(filter, sandbox, &fresh, count);
        }
    int result = kernel_run(filter->kernel, rules.commands, err);
    filter->table_missing = result < 0;
    return result;
}

static void on_state(void *context, struct policy_wire *wire, const json_t *answers)
{
    struct filter *filter = context;
    error_auto err = NULL;
    size_t index;
    json_t *row;
    struct filter_sandbox *sandbox = filter_find(filter, wire->address);
    if (sandbox) {
        policy_wire_deinit(wire);
        return;
    }
    sandbox = add_sandbox(filter, wire->address);
    sandbox->wire = *wire;
    json_array_foreach ((json_t *)answers, index, row) {
        const char *name = json_string_value(json_array_get(row, 0));
        if (name && strlen(name) <= POLICY_HOST_MAX)
            names_answered(&sandbox->names, &sandbox->wire.policy, name,
                           (uint32_t)json_integer_value(json_array_get(row, 1)),
                           json_integer_value(json_array_get(row, 2)));
    }
    if (lookup_denied(filter, &sandbox->wire.policy, &sandbox->names, NULL, &err) == 0)
        return;
    log_error("cannot restore the network policy of a sandbox; its network stays closed",
              LOG_STR("sandbox", sandbox->wire.sandbox_id), LOG_ERROR(err));
    remove_sandbox(filter, sandbox);
}

int filter_restore(struct filter *filter, struct error **err)
{
    if (state_load(filter->settings->firewall_state_dir, on_state, filter, err) < 0 ||
        stale_flows_restore(filter, err) < 0)
        return -1;
    filter_wake(filter);
    return filter_apply_all(filter, err);
}

/* --- names --- */

int filter_answered(struct filter *filter, struct filter_sandbox *sandbox, const char *name,
                    const uint32_t *addresses, size_t count, int64_t expires_at_ms,
                    struct error **err)
{
    bool changed = false;
    for (size_t i = 0; i < count; i++)
        changed |= names_answered(&sandbox->names, &sandbox->wire.policy, name, addresses[i],
                                  expires_at_ms);
    if (!changed)
        return 0;
    sandbox->dirty = true;
    return apply_names(filter, sandbox, err);
}

void filter_watch_answered(struct filter *filter, struct lookup *lookup, const uint32_t *addresses,
                           size_t count, int64_t again_ms)
{
    bool changed = lookup_answered(lookup, addresses, count, clock_monotonic_ms(), again_ms);
    for (size_t i = 0; changed && i < FILTER_BUCKETS; i++)
        for (struct filter_sandbox *sandbox = filter->buckets[i]; sandbox;
             sandbox = sandbox->next) {
            const struct name_lookup *used = names_lookup(&sandbox->names, lookup);
            if (used && name_rights_deny(&used->rights))
                sandbox->names_changed = true;
        }
}

void filter_apply_changed(struct filter *filter)
{
    int64_t now_ms = clock_monotonic_ms(), until_ms = now_ms + APPLY_TURN_MS;
    for (size_t i = 0; i < FILTER_BUCKETS && clock_monotonic_ms() < until_ms; i++) {
        size_t at = filter->next_changed++ % FILTER_BUCKETS;
        for (struct filter_sandbox *sandbox = filter->buckets[at]; sandbox; sandbox = sandbox->next)
            if (sandbox->names_changed && now_ms - sandbox->names_applied_at_ms >= NAMES_APPLY_MS)
                apply_changed(filter, sandbox);
    }
}
