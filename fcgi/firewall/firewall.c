/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/firewall.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "firewall/state.h"

#define DNS_PORT      53
#define DNS_TLS_PORT  853
#define QUIC_PORT     443
#define WATCH_WAIT_MS 1000 /* what a change waits for the addresses of denied names */

/* --- open and close --- */

static int open_parts(struct firewall *firewall, struct error **err)
{
    const struct settings *settings = firewall->settings;
    if (protected_open(&firewall->protected_networks, settings->protected_networks_open, err) < 0 ||
        kernel_open(&firewall->kernel, err) < 0 ||
        flows_open(settings->firewall_tun, &firewall->flows, err) < 0)
        return -1;
    firewall->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return firewall->wake_fd < 0 ? error_set(err, ERR_CONFIG, "eventfd()") : 0;
}

int firewall_open(const struct settings *settings, struct firewall **firewall, struct error **err)
{
    pthread_condattr_t monotonic;
    struct firewall *fresh = xcalloc(1, sizeof *fresh);
    fresh->settings = settings;
    fresh->started_at_ms = clock_now_ms();
    fresh->wake_fd = -1;
    pthread_mutex_init(&fresh->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&fresh->watches_changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (open_parts(fresh, err) < 0) {
        firewall_close(fresh);
        return -1;
    }
    *firewall = fresh;
    return 0;
}

static void release_watches(struct firewall *firewall, struct names *names)
{
    for (size_t i = 0; i < names->watch_count; i++) {
        watch_release(&firewall->watches, names->watches[i].watch);
        name_rights_deinit(&names->watches[i].rights);
    }
    free(names->watches);
    names->watches = NULL;
    names->watch_count = 0;
}

static void sandbox_free(struct firewall *firewall, struct fw_sandbox *sandbox)
{
    release_watches(firewall, &sandbox->names);
    names_deinit(&sandbox->names);
    policy_wire_deinit(&sandbox->wire);
    free(sandbox->elements);
    free(sandbox);
}

void firewall_close(struct firewall *firewall)
{
    for (size_t i = 0; i < FIREWALL_BUCKETS; i++) {
        struct fw_sandbox *next;
        for (struct fw_sandbox *sandbox = firewall->buckets[i]; sandbox; sandbox = next) {
            next = sandbox->next;
            sandbox_free(firewall, sandbox);
        }
    }
    kernel_close(firewall->kernel);
    flows_close(firewall->flows);
    if (firewall->wake_fd >= 0)
        close(firewall->wake_fd);
    pthread_cond_destroy(&firewall->watches_changed);
    pthread_mutex_destroy(&firewall->lock);
    free(firewall);
}

void firewall_lock(struct firewall *firewall)
{
    pthread_mutex_lock(&firewall->lock);
}

void firewall_unlock(struct firewall *firewall)
{
    pthread_mutex_unlock(&firewall->lock);
}

/* --- sandboxes by address --- */

static struct fw_sandbox **bucket_of(struct firewall *firewall, uint32_t address)
{
    return &firewall->buckets[address % FIREWALL_BUCKETS];
}

struct fw_sandbox *firewall_find(struct firewall *firewall, uint32_t address)
{
    struct fw_sandbox *sandbox = *bucket_of(firewall, address);
    while (sandbox && sandbox->address != address)
        sandbox = sandbox->next;
    return sandbox;
}

static struct fw_sandbox *add_sandbox(struct firewall *firewall, uint32_t address)
{
    struct fw_sandbox **bucket = bucket_of(firewall, address);
    struct fw_sandbox *sandbox = xcalloc(1, sizeof *sandbox);
    sandbox->address = address;
    sandbox->next = *bucket;
    *bucket = sandbox;
    firewall->count++;
    return sandbox;
}

static void remove_sandbox(struct firewall *firewall, struct fw_sandbox *sandbox)
{
    struct fw_sandbox **link = bucket_of(firewall, sandbox->address);
    while (*link != sandbox)
        link = &(*link)->next;
    *link = sandbox->next;
    firewall->count--;
    sandbox_free(firewall, sandbox);
}

/* --- names that are denied --- */

static bool watches_name(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->watch_count; i++)
        if (!strcmp(names->watches[i].watch->name, name))
            return true;
    return false;
}

/* What the policy denies by host name, for some port at least. */
static void watch_denied(struct firewall *firewall, const struct policy *policy,
                         struct names *names)
{
    for (size_t i = 0; i < policy->count; i++) {
        const struct policy_entry *entry = &policy->rules[i].entry;
        if (entry->kind != POLICY_HOST || policy->rules[i].verdict != POLICY_DENY ||
            watches_name(names, entry->name))
            continue;
        struct name_watch watch = {watch_use(&firewall->watches, entry->name), {0}};
        if (!watch.watch) {
            log_error("too many denied names", LOG_STR("name", entry->name));
            return;
        }
        name_rights_find(policy, entry->name, &watch.rights);
        names->watches =
            xreallocarray(names->watches, names->watch_count + 1, sizeof *names->watches);
        names->watches[names->watch_count++] = watch;
    }
}

static void wake_other_thread(const struct firewall *firewall)
{
    uint64_t one = 1;
    if (write(firewall->wake_fd, &one, sizeof one) < 0)
        log_debug("eventfd is full");
}

static bool watches_answered(const struct names *names)
{
    for (size_t i = 0; i < names->watch_count; i++)
        if (!names->watches[i].watch->answered)
            return false;
    return true;
}

/* The lock is open meanwhile, so the sandbox may be another one afterwards, or none. */
static void wait_for_watches(struct firewall *firewall, uint32_t address)
{
    struct timespec until;
    int64_t until_ms = clock_monotonic_ms() + WATCH_WAIT_MS;
    until.tv_sec = until_ms / 1000;
    until.tv_nsec = until_ms % 1000 * 1000000;
    for (;;) {
        const struct fw_sandbox *sandbox = firewall_find(firewall, address);
        if (!sandbox || watches_answered(&sandbox->names))
            return;
        wake_other_thread(firewall);
        if (pthread_cond_timedwait(&firewall->watches_changed, &firewall->lock, &until) != 0) {
            log_warning("addresses of denied names are not known yet",
                        LOG_STR("sandbox", sandbox->wire.sandbox_id));
            return;
        }
    }
}

/* --- what is allowed --- */

struct flow_question {
    const struct firewall *firewall;
    const struct fw_sandbox *sandbox;
    int64_t now_ms;
};

static bool answer_holds(const struct fw_sandbox *sandbox, uint32_t address, int64_t now_ms)
{
    for (size_t i = 0; i < sandbox->names.count; i++)
        if (sandbox->names.answers[i].address == address &&
            sandbox->names.answers[i].expires_at_ms > now_ms)
            return true;
    return false;
}

/* As the chains by_name and those of the sandbox decide it. */
static bool flow_is_allowed(void *context, const struct flow *flow)
{
    const struct flow_question *question = context;
    const struct fw_sandbox *sandbox = question->sandbox;
    struct policy_address remote = policy_address_ipv4(flow->remote);
    uint16_t port = flow->protocol == IPPROTO_ICMP ? 0 : flow->remote_port;
    if (flow->remote == FIREWALL_RESOLVER)
        return true;
    if (protected_reason(&question->firewall->protected_networks, &remote) || port == DNS_PORT ||
        port == DNS_TLS_PORT)
        return false;
    enum name_verdict named = names_decide(&sandbox->names, flow->remote, port);
    bool quic = flow->protocol == IPPROTO_UDP && port == QUIC_PORT;
    if (named == NAME_DENIES)
        return false;
    if (named == NAME_ALLOWS && !quic &&
        ((flow->mark & MARK_NAMED) || answer_holds(sandbox, flow->remote, question->now_ms)))
        return true;
    return policy_decide_address(&sandbox->wire.policy, &remote, port).verdict == POLICY_ALLOW;
}

static void cut_forbidden(struct firewall *firewall, const struct fw_sandbox *sandbox)
{
    error_auto err = NULL;
    size_t cut = 0;
    struct flow_question question = {firewall, sandbox, clock_now_ms()};
    if (flows_cut(firewall->flows, sandbox->address, flow_is_allowed, &question, &cut, &err) < 0)
        log_error("flows not cut", LOG_STR("sandbox", sandbox->wire.sandbox_id), LOG_ERROR(err));
    else if (cut)
        log_info("flows cut", LOG_STR("sandbox", sandbox->wire.sandbox_id), LOG_INT("count", cut));
}

/* --- putting a policy in force --- */

static bool same_element(const struct name_element *a, const struct name_element *b)
{
    return a->address == b->address && a->port == b->port && a->verdict == b->verdict &&
           a->expires_at_ms == b->expires_at_ms;
}

static bool holds_element(const struct name_element *list, size_t count,
                          const struct name_element *element)
{
    for (size_t i = 0; i < count; i++)
        if (same_element(&list[i], element))
            return true;
    return false;
}

/* What the first list has and the second has not. */
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

/* The commands that bring the kernel's sets from what they hold to what they should hold; that is
 * returned in *fresh, which the caller stores when the kernel has it. */
static size_t change_elements(struct rules *rules, const struct fw_sandbox *sandbox,
                              const struct names *names, struct name_element **fresh)
{
    autofree struct name_element *gone = NULL, *come = NULL;
    size_t count;
    int64_t now_ms = clock_now_ms();
    names_elements(names, now_ms, fresh, &count);
    size_t gone_count = only_in(sandbox->elements, sandbox->element_count, *fresh, count, &gone);
    size_t come_count = only_in(*fresh, count, sandbox->elements, sandbox->element_count, &come);
    rules_names(rules, sandbox->address, gone, gone_count, come, come_count, now_ms);
    return count;
}

static void store_elements(struct fw_sandbox *sandbox, struct name_element **fresh, size_t count)
{
    free(sandbox->elements);
    sandbox->elements = steal_pointer(fresh);
    sandbox->element_count = count;
}

/* Errors: of kernel_run(); nothing has changed then. */
static int apply_names(struct firewall *firewall, struct fw_sandbox *sandbox, struct error **err)
{
    rules_auto rules = {0};
    autofree struct name_element *fresh = NULL;
    rules_init(&rules, firewall->settings->firewall_table);
    size_t count = change_elements(&rules, sandbox, &sandbox->names, &fresh);
    if (json_array_size(rules.commands) && kernel_run(firewall->kernel, rules.commands, err) < 0)
        return -1;
    store_elements(sandbox, &fresh, count);
    return 0;
}

static bool same_sandbox(const struct fw_sandbox *sandbox, const char *sandbox_id)
{
    return sandbox->wire.sandbox_id && !strcmp(sandbox->wire.sandbox_id, sandbox_id);
}

/* Put wire into the kernel with the names that stay; on success they are the sandbox's. */
static int apply_policy(struct firewall *firewall, struct fw_sandbox *sandbox,
                        struct policy_wire *wire, struct names *names, struct error **err)
{
    rules_auto rules = {0};
    autofree struct name_element *fresh = NULL;
    rules_init(&rules, firewall->settings->firewall_table);
    rules_sandbox(&rules, sandbox->address, &wire->policy);
    size_t count = change_elements(&rules, sandbox, names, &fresh);
    if (kernel_run(firewall->kernel, rules.commands, err) < 0)
        return -1;
    store_elements(sandbox, &fresh, count);
    return 0;
}

/* A copy of the answers, as the new policy sees them. */
static void names_under(struct firewall *firewall, const struct fw_sandbox *sandbox,
                        const struct policy_wire *wire, struct names *names)
{
    *names = (struct names){0};
    if (same_sandbox(sandbox, wire->sandbox_id))
        for (size_t i = 0; i < sandbox->names.count; i++) {
            const struct name_answer *answer = &sandbox->names.answers[i];
            names_answered(names, &wire->policy, answer->name, answer->address,
                           answer->expires_at_ms);
        }
    names_apply(names, &wire->policy);
    watch_denied(firewall, &wire->policy, names);
}

static void take_policy(struct firewall *firewall, struct fw_sandbox *sandbox,
                        struct policy_wire *wire, struct names *names)
{
    release_watches(firewall, &sandbox->names);
    names_deinit(&sandbox->names);
    if (!same_sandbox(sandbox, wire->sandbox_id))
        sandbox->denials.count = 0;
    policy_wire_deinit(&sandbox->wire);
    sandbox->wire = *wire;
    sandbox->names = *names;
    *wire = (struct policy_wire){0};
    *names = (struct names){0};
}

static int check_wire(const struct firewall *firewall, const struct policy_wire *wire,
                      struct error **err)
{
    const struct fw_sandbox *sandbox = firewall_find((struct firewall *)firewall, wire->address);
    if (sandbox && same_sandbox(sandbox, wire->sandbox_id) &&
        sandbox->wire.revision > wire->revision)
        return error_set(
            err, ERR_STALE_REVISION, "revision %llu of the policy is in force, %llu is older",
            (unsigned long long)sandbox->wire.revision, (unsigned long long)wire->revision);
    return 0;
}

int firewall_put(struct firewall *firewall, struct policy_wire *wire, struct error **err)
{
    struct names names;
    if (check_wire(firewall, wire, err) < 0)
        return -1;
    uint32_t address = wire->address;
    struct fw_sandbox *sandbox = firewall_find(firewall, address);
    bool is_new = !sandbox;
    if (is_new)
        sandbox = add_sandbox(firewall, address);
    names_under(firewall, sandbox, wire, &names);
    if (apply_policy(firewall, sandbox, wire, &names, err) < 0) {
        release_watches(firewall, &names);
        names_deinit(&names);
        if (is_new)
            remove_sandbox(firewall, sandbox);
        return -1;
    }
    if (!is_new && !same_sandbox(sandbox, wire->sandbox_id)) {
        size_t cut;
        flows_cut(firewall->flows, address, NULL, NULL, &cut, &(struct error *){NULL});
    }
    take_policy(firewall, sandbox, wire, &names);
    cut_forbidden(firewall, sandbox);
    if (state_save(firewall->settings->firewall_state_dir, sandbox, err) < 0)
        return -1;
    sandbox->dirty = false;
    if (!watches_answered(&sandbox->names))
        wait_for_watches(firewall, address);
    return 0;
}

int firewall_delete(struct firewall *firewall, uint32_t address, const char *sandbox_id,
                    struct error **err)
{
    rules_auto rules = {0};
    size_t cut;
    struct fw_sandbox *sandbox = firewall_find(firewall, address);
    if (!sandbox || !same_sandbox(sandbox, sandbox_id))
        return 0;
    rules_init(&rules, firewall->settings->firewall_table);
    rules_sandbox_remove(&rules, address);
    rules_names(&rules, address, sandbox->elements, sandbox->element_count, NULL, 0, 0);
    if (kernel_run(firewall->kernel, rules.commands, err) < 0 ||
        state_remove(firewall->settings->firewall_state_dir, address, err) < 0)
        return -1;
    remove_sandbox(firewall, sandbox);
    return flows_cut(firewall->flows, address, NULL, NULL, &cut, err);
}

/* --- all of them --- */

static int close_all(struct firewall *firewall, struct rules *rules, struct error **err)
{
    rules_auto list = {0};
    json_auto_t *chains = NULL;
    rules_init(&list, firewall->settings->firewall_table);
    rules_list_chains(&list);
    if (kernel_query(firewall->kernel, list.commands, &chains, err) < 0)
        return -1;
    rules_close_all(rules);
    rules_drop_chains(rules, chains);
    return 0;
}

static void add_never(const struct firewall *firewall, struct rules *rules)
{
    struct policy_range *ranges = NULL;
    size_t count;
    protected_ranges(&firewall->protected_networks, POLICY_IPV4, &ranges, &count);
    rules_never(rules, ranges, count);
    policy_ranges_free(ranges, count);
}

int firewall_apply_all(struct firewall *firewall, struct error **err)
{
    rules_auto rules = {0};
    int64_t now_ms = clock_now_ms();
    rules_init(&rules, firewall->settings->firewall_table);
    if (close_all(firewall, &rules, err) < 0)
        return -1;
    add_never(firewall, &rules);
    for (size_t i = 0; i < FIREWALL_BUCKETS; i++)
        for (struct fw_sandbox *sandbox = firewall->buckets[i]; sandbox; sandbox = sandbox->next) {
            struct name_element *fresh;
            size_t count;
            rules_sandbox(&rules, sandbox->address, &sandbox->wire.policy);
            names_elements(&sandbox->names, now_ms, &fresh, &count);
            rules_names(&rules, sandbox->address, NULL, 0, fresh, count, now_ms);
            store_elements(sandbox, &fresh, count);
        }
    int result = kernel_run(firewall->kernel, rules.commands, err);
    firewall->table_missing = result < 0;
    return result;
}

static void on_state(void *context, struct policy_wire *wire, const json_t *answers)
{
    struct firewall *firewall = context;
    size_t index;
    json_t *row;
    struct fw_sandbox *sandbox = firewall_find(firewall, wire->address);
    if (sandbox) {
        policy_wire_deinit(wire);
        return;
    }
    sandbox = add_sandbox(firewall, wire->address);
    sandbox->wire = *wire;
    json_array_foreach ((json_t *)answers, index, row) {
        const char *name = json_string_value(json_array_get(row, 0));
        if (name && strlen(name) <= POLICY_HOST_MAX)
            names_answered(&sandbox->names, &sandbox->wire.policy, name,
                           (uint32_t)json_integer_value(json_array_get(row, 1)),
                           json_integer_value(json_array_get(row, 2)));
    }
    watch_denied(firewall, &sandbox->wire.policy, &sandbox->names);
}

int firewall_restore(struct firewall *firewall, struct error **err)
{
    if (state_load(firewall->settings->firewall_state_dir, on_state, firewall, err) < 0)
        return -1;
    wake_other_thread(firewall);
    return firewall_apply_all(firewall, err);
}

/* --- names --- */

int firewall_answered(struct firewall *firewall, struct fw_sandbox *sandbox, const char *name,
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
    return apply_names(firewall, sandbox, err);
}

void firewall_watch_answered(struct firewall *firewall, struct watch *watch,
                             const uint32_t *addresses, size_t count, int64_t again_ms)
{
    bool changed = watch_answered(watch, addresses, count, clock_monotonic_ms(), again_ms);
    for (size_t i = 0; changed && i < FIREWALL_BUCKETS; i++)
        for (struct fw_sandbox *sandbox = firewall->buckets[i]; sandbox; sandbox = sandbox->next) {
            error_auto err = NULL;
            if (!watches_name(&sandbox->names, watch->name))
                continue;
            if (apply_names(firewall, sandbox, &err) < 0)
                log_error("denied name not in force", LOG_STR("name", watch->name), LOG_ERROR(err));
            cut_forbidden(firewall, sandbox);
        }
    pthread_cond_broadcast(&firewall->watches_changed);
}

void firewall_save_dirty(struct firewall *firewall)
{
    for (size_t i = 0; i < FIREWALL_BUCKETS; i++)
        for (struct fw_sandbox *sandbox = firewall->buckets[i]; sandbox; sandbox = sandbox->next) {
            error_auto err = NULL;
            if (!sandbox->dirty)
                continue;
            sandbox->dirty = false;
            if (state_save(firewall->settings->firewall_state_dir, sandbox, &err) < 0)
                log_error("state not saved", LOG_STR("sandbox", sandbox->wire.sandbox_id),
                          LOG_ERROR(err));
        }
}
