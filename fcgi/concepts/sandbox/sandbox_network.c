/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox_network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/account.h"
#include "base/clock.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/pool.h"
#include "network/denied_names.h"
#include "network/firewall_client.h"
#include "network/protected.h"
#include "network/sandbox_policy.h"
#include "sandbox/sandbox_events.h"
#include "sandbox/sandbox_network_row.h"
#include "secret/egress_secrets.h"
#include "secret/secret.h"

/* The process that stored a policy applies it; after this time it counts as dead. */
#define TAKE_OVER_MS 6000
/* A policy that the firewall refuses is a defect; retrying is not urgent. */
#define REFUSED_RETRY_MS 60000
/* nginx keeps answers of the gate for a second (conf/nginx/sandlot-gate.inc.in). */
#define KEPT_ANSWER_MS 1100

/* --- applying --- */

/* Find the firewall of a host; NULL when the host has none. */
static int find_firewall(struct worker *worker, uint32_t host_id, struct firewall **firewall,
                         struct error **err)
{
    struct runtime *runtime;
    if (runtimes_get(worker->runtimes, worker->db, host_id, &runtime, err) < 0)
        return -1;
    *firewall = runtimes_firewall(worker->runtimes, host_id);
    return 0;
}

static int push(struct worker *worker, const struct sandbox *sandbox, struct firewall *firewall,
                struct error **err)
{
    policy_wire_auto wire = {.sandbox_id = xstrdup(sandbox->id),
                             .address = sandbox->address,
                             .revision = sandbox->network_revision,
                             .tenant = pool_tenant(sandbox->team_id),
                             .user = pool_tenant(sandbox->created_by)};
    if (sandbox_policy_compile(worker->db, sandbox->network, &wire.policy, err) < 0 ||
        approvals_compile(worker->db, sandbox->id, &wire.policy, err) < 0 ||
        egress_rules_compile(worker->db, worker->ring, sandbox->team_id, sandbox->network,
                             &wire.policy, err) < 0)
        return -1;
    const struct firewall_size same = {.instance = sandbox->instance_name};
    firewall_put_begin(firewall, &wire, false, &same);
    return firewall_end(firewall, err);
}

/* The reason is for the sandbox's owner, so it does not contain the firewall's address. */
static int note_failure(struct worker *worker, const struct sandbox *sandbox,
                        const struct error *failure, struct error **err)
{
    char reason[NETWORK_REASON_MAX + 1] = "The firewall of the sandbox's host does not answer.";
    if (failure->code != ERR_RUNTIME_UNAVAILABLE)
        snprintf(reason, sizeof reason,
                 "The firewall of the sandbox's host refused the policy: %s.", failure->message);
    return network_row_failed(worker->db, sandbox->id, sandbox->network_revision, reason, err);
}

/* Apply the policy of the row as it was read. A policy that fails stays due. */
static int apply(struct worker *worker, const struct sandbox *sandbox, struct error **err)
{
    struct firewall *firewall = NULL;
    error_auto failure = NULL;
    if (find_firewall(worker, sandbox->host_id, &firewall, err) < 0)
        return -1;
    if (!firewall)
        return network_row_defer_host(worker->db, sandbox->host_id, clock_in_ms(REFUSED_RETRY_MS),
                                      err);
    if (push(worker, sandbox, firewall, &failure) == 0) {
        fault_point(FAULT_NETWORK_APPLIED);
        return network_row_applied(worker->db, sandbox, err);
    }
    if (failure->code == ERR_LEASE_LOST) /* the process with the newer policy applies that */
        return 0;
    log_warning("cannot apply the network policy of a sandbox; trying again", SANDBOX_LOG(sandbox),
                LOG_INT("revision", (int64_t)sandbox->network_revision), LOG_ERROR(failure));
    if (note_failure(worker, sandbox, failure, err) < 0)
        return -1;
    if (failure->code != ERR_RUNTIME_UNAVAILABLE)
        return network_row_defer(worker->db, sandbox->id, REFUSED_RETRY_MS, err);
    uint64_t delay_ms = firewall_back_off_ms(firewall);
    if (network_row_defer(worker->db, sandbox->id, delay_ms, err) < 0)
        return -1;
    return network_row_defer_host(worker->db, sandbox->host_id, clock_in_ms(delay_ms), err);
}

/* --- a new desired policy --- */

struct put {
    const struct settings *settings;
    const char *id;
    const struct sandbox_network_change *change;
    struct sandbox *sandbox;
    bool applies; /* the sandbox runs, or is about to */
    bool closes;  /* previews that may be open */
};

bool sandbox_has_packets(enum sandbox_state state)
{
    return state == SANDBOX_CREATING || state == SANDBOX_READY || state == SANDBOX_RESTORING ||
           state == SANDBOX_CHECKPOINTING || state == SANDBOX_STOPPING;
}

/* A policy that replaces another one ends its approvals. */
static int make_network(struct db *db, const struct put *put, char **network, struct error **err)
{
    const struct sandbox_network_change *change = put->change;
    if (change->edit)
        return change->edit(db, change->context, put->sandbox, network, err);
    *network = xstrdup(change->network);
    return approvals_forget(db, put->sandbox->id, err);
}

static int put_body(struct db *db, void *context, struct error **err)
{
    struct put *put = context;
    struct sandbox *sandbox = put->sandbox;
    struct plan plan;
    sandbox_deinit(sandbox);
    if (sandbox_get_any(db, put->id, true, sandbox, err) < 0)
        return -1;
    if (!sandbox_state_is_shown(sandbox->state))
        return error_set(err, ERR_NOT_FOUND, "There is no such sandbox.");
    autofree char *network = NULL;
    if (team_lock(db, sandbox->team_id, &plan, err) < 0 || make_network(db, put, &network, err) < 0)
        return -1;
    put->applies = sandbox_has_packets(sandbox->state);
    free(sandbox->network);
    sandbox->network = steal_pointer(&network);
    sandbox->network_revision++;
    sandbox->network_due_at_ms = put->applies ? clock_in_ms(TAKE_OVER_MS) : 0;
    bool was_public = sandbox->allow_public_traffic;
    if (put->change->set_public_traffic)
        sandbox->allow_public_traffic = put->change->allow_public_traffic;
    put->closes = put->applies && was_public && !sandbox->allow_public_traffic;
    const struct sandbox_changed changed = {.network = true};
    if (network_row_update(db, sandbox, err) < 0 ||
        sandbox_tell_updated(db, sandbox, &changed, err) < 0)
        return -1;
    if (denied_names_follow(db, sandbox->team_id, sandbox->id, sandbox->network, false,
                            (unsigned)put->settings->denied_names_per_team, err) < 0 ||
        egress_profile_follow(db, sandbox->id, sandbox->network, false, err) < 0)
        return -1;
    return egress_rules_follow(db, sandbox->team_id, sandbox->id, sandbox->network, false, err);
}

int sandbox_network_put(struct worker *worker, const char *id,
                        const struct sandbox_network_change *change, struct sandbox *sandbox,
                        struct error **err)
{
    struct put put = {.settings = worker->settings, .id = id, .change = change, .sandbox = sandbox};
    error_auto failure = NULL;
    if (db_transaction(worker->db, put_body, &put, err) < 0)
        return -1;
    fault_point(FAULT_NETWORK_STORED);
    if (put.applies && apply(worker, sandbox, &failure) < 0)
        log_warning("cannot apply the network policy of a sandbox; the dispatcher tries again",
                    LOG_STR("sandbox", id), LOG_ERROR(failure));
    if (put.closes)
        sandbox_end_previews(worker, id, 0);
    sandbox_deinit(sandbox);
    return sandbox_get(worker->db, id, sandbox, err);
}

/* --- previews --- */

static int end_previews(struct worker *worker, const char *id, uint16_t port, struct error **err)
{
    sandbox_auto sandbox = {0};
    struct firewall *firewall;
    if (sandbox_get(worker->db, id, &sandbox, err) < 0)
        return -1;
    if (!sandbox_has_packets(sandbox.state))
        return 0;
    if (find_firewall(worker, sandbox.host_id, &firewall, err) < 0)
        return -1;
    if (!firewall)
        return 0;
    firewall_previews_end_begin(firewall, sandbox.address, port);
    return firewall_end(firewall, err);
}

void sandbox_wait_for_gate(void)
{
    clock_sleep_ms(KEPT_ANSWER_MS);
}

void sandbox_end_previews(struct worker *worker, const char *id, uint16_t port)
{
    error_auto err = NULL;
    sandbox_wait_for_gate();
    if (end_previews(worker, id, port, &err) < 0)
        log_warning("cannot end the open previews of a sandbox's port; they may continue",
                    LOG_STR("sandbox", id), LOG_INT("port", port), LOG_ERROR(err));
}

int sandbox_end_connections(struct worker *worker, const struct sandbox *sandbox, bool *ended,
                            struct error **err)
{
    struct firewall *firewall;
    *ended = false;
    if (find_firewall(worker, sandbox->host_id, &firewall, err) < 0)
        return -1;
    if (!firewall)
        return 0;
    firewall_previews_end_begin(firewall, sandbox->address, 0);
    if (firewall_end(firewall, err) < 0)
        return -1;
    firewall_calls_end_begin(firewall, sandbox->address);
    if (firewall_end(firewall, err) < 0)
        return -1;
    *ended = true;
    return 0;
}

/* --- looking --- */

int sandbox_network_denials(struct worker *worker, const struct sandbox *sandbox, json_t **denials,
                            struct error **err)
{
    struct firewall *firewall = NULL;
    *denials = NULL;
    if (!sandbox_has_packets(sandbox->state)) {
        *denials = json_array();
        return 0;
    }
    if (find_firewall(worker, sandbox->host_id, &firewall, err) < 0)
        return -1;
    if (firewall && firewall_denials(firewall, sandbox->address, denials, err) == 0)
        return 0;
    if (*err)
        log_warning("cannot read the denials of a sandbox from the kernel; they are lost",
                    SANDBOX_LOG(sandbox), LOG_ERROR(*err));
    error_clear(err);
    return error_set(err, ERR_RUNTIME_UNAVAILABLE,
                     "The firewall of the sandbox's host does not answer; try again soon.");
}

static int add_range(void *context, const char *range, struct error **err)
{
    return protected_close(context, range, err);
}

int sandbox_network_protected(struct worker *worker, struct protected_networks *networks,
                              struct error **err)
{
    *networks = (struct protected_networks){0};
    if (protected_open(networks, worker->settings->protected_networks_open, err) < 0)
        return -1;
    return network_row_ranges(worker->db, add_range, networks, err);
}

/* --- for the dispatcher --- */

struct due {
    char id[LEASE_KEY_SIZE];
    struct orphan orphan;
};

static int take_due_body(struct db *db, void *context, struct error **err)
{
    struct due *due = context;
    return network_row_take_due(db, TAKE_OVER_MS, due->id, err);
}

static int take_orphan_body(struct db *db, void *context, struct error **err)
{
    struct due *due = context;
    return network_row_take_orphan(db, clock_in_ms(TAKE_OVER_MS), &due->orphan, err);
}

static int apply_due(struct worker *worker, const char *id, struct error **err)
{
    sandbox_auto sandbox = {0};
    if (sandbox_get(worker->db, id, &sandbox, err) == 0)
        return apply(worker, &sandbox, err);
    /* no sandbox: its policy is gone too */
    return error_clear_if(err, ERR_NOT_FOUND) ? 0 : -1;
}

static int remove_orphan(struct worker *worker, const struct orphan *orphan, struct error **err)
{
    struct firewall *firewall = NULL;
    if (find_firewall(worker, orphan->host_id, &firewall, err) < 0)
        return -1;
    if (firewall) {
        firewall_ended_begin(firewall, orphan->address, orphan->sandbox_id);
        if (firewall_end(firewall, err) < 0)
            return -1; /* it is due again */
    }
    return network_row_orphan_gone(worker->db, orphan, err);
}

int sandbox_network_next(struct worker *worker, bool *worked, struct error **err)
{
    struct due due = {0};
    bool any;
    *worked = false;
    if (network_row_any_due(worker->db, &any, err) < 0)
        return -1;
    if (!any)
        return 0;
    if (db_transaction(worker->db, take_due_body, &due, err) < 0)
        return -1;
    *worked = due.id[0];
    if (*worked)
        return apply_due(worker, due.id, err);
    if (db_transaction(worker->db, take_orphan_body, &due, err) < 0)
        return -1;
    *worked = due.orphan.host_id;
    return *worked ? remove_orphan(worker, &due.orphan, err) : 0;
}

/* --- comparing --- */

static int compare_addresses(const void *a, const void *b)
{
    const struct firewall_policy *left = a, *right = b;
    return left->address < right->address ? -1 : left->address > right->address;
}

/* Return the policy at the desired address if it belongs to the same sandbox, else NULL. */
static const struct firewall_policy *find_policy(const struct firewall_policy *policies,
                                                 size_t count,
                                                 const struct network_desired *desired)
{
    struct firewall_policy key = {.address = desired->address};
    const struct firewall_policy *found =
        count ? bsearch(&key, policies, count, sizeof key, compare_addresses) : NULL;
    return found && !strcmp(found->sandbox_id, desired->id) ? found : NULL;
}

/* Remove a policy without a sandbox, before another sandbox gets its address. */
static int remove_stray(struct worker *worker, uint32_t host_id,
                        const struct firewall_policy *policy, struct firewall *firewall,
                        struct error **err)
{
    bool holds;
    if (network_row_holds(worker->db, host_id, policy->address, policy->sandbox_id, &holds, err) <
        0)
        return -1;
    if (holds)
        return 0;
    log_warning("deleting the network policy of a sandbox that no longer exists",
                LOG_STR("sandbox", policy->sandbox_id));
    /* A plain removal would leave the address closed for the next sandbox. */
    firewall_ended_begin(firewall, policy->address, policy->sandbox_id);
    return firewall_end(firewall, err);
}

static bool is_desired(const struct network_desired *desired, size_t count,
                       const struct firewall_policy *policy)
{
    for (size_t low = 0, high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (desired[middle].address == policy->address)
            return !strcmp(desired[middle].id, policy->sandbox_id);
        if (desired[middle].address < policy->address)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* Collect the last use of each secret of each team: many sandboxes may use the same secrets. uses:
 * an object of a team's id and its object of names and times. */
static void collect_uses(json_t *uses, const char *team_id, const json_t *used)
{
    const char *name;
    json_t *at_ms, *of_team = json_object_get(uses, team_id);
    json_object_foreach ((json_t *)used, name, at_ms) {
        if (!egress_secret_name_is_valid(name))
            continue;
        if (!of_team)
            json_object_set_new(uses, team_id, of_team = json_object());
        if (json_integer_value(at_ms) > json_integer_value(json_object_get(of_team, name)))
            json_object_set_new(of_team, name, json_integer(json_integer_value(at_ms)));
    }
}

/* One statement for each team. */
static int note_uses(struct worker *worker, const json_t *uses, struct error **err)
{
    const char *team_id;
    json_t *of_team;
    json_object_foreach ((json_t *)uses, team_id, of_team)
        if (secrets_used(worker->db, team_id, of_team, err) < 0)
            return -1;
    return 0;
}

/* The sandbox asks again, so a failure stops no other sandbox. */
static void note_asked(struct worker *worker, const struct network_desired *desired,
                       const json_t *asked)
{
    const struct approval_asker asker = {desired->id, desired->team_id, desired->user_id};
    error_auto err = NULL;
    if (approvals_ask(worker->db, &asker, asked, &err) < 0)
        log_warning("cannot store the approval requests of a sandbox; trying again",
                    LOG_STR("sandbox", desired->id), LOG_ERROR(err));
}

/* The policies were listed before the rows were read. A policy that is only in a row may be newer
 * than the list, and is then sent again, which is harmless. A policy that is only in the list has
 * no row. */
static int compare(struct worker *worker, uint32_t host_id, struct firewall *firewall,
                   struct firewall_policy *policies, size_t policy_count, struct error **err)
{
    autofree struct network_desired *desired = NULL;
    json_auto_t *uses = json_object();
    size_t desired_count;
    if (policy_count)
        qsort(policies, policy_count, sizeof *policies, compare_addresses);
    if (network_row_desired(worker->db, host_id, &desired, &desired_count, err) < 0)
        return -1;
    for (size_t i = 0; i < desired_count; i++) {
        const struct firewall_policy *found = find_policy(policies, policy_count, &desired[i]);
        uint64_t has = found ? found->revision : 0;
        bool lost = desired[i].applied && has < desired[i].applied;
        if ((lost || has > desired[i].revision) &&
            network_row_lost(worker->db, &desired[i], has, err) < 0)
            return -1;
        if (found && found->denied != desired[i].denials_told &&
            sandbox_tell_denials(worker->db, desired[i].team_id, desired[i].id,
                                 desired[i].denials_told, found->denied, err) < 0)
            return -1;
        if (found && found->asked)
            note_asked(worker, &desired[i], found->asked);
        if (found)
            collect_uses(uses, desired[i].team_id, found->secrets_used);
    }
    if (note_uses(worker, uses, err) < 0)
        return -1;
    for (size_t i = 0; i < policy_count; i++)
        if (!is_desired(desired, desired_count, &policies[i]) &&
            remove_stray(worker, host_id, &policies[i], firewall, err) < 0)
            return -1;
    return 0;
}

static int reconcile_host(struct worker *worker, const struct host *host, struct error **err)
{
    struct runtime *runtime;
    struct firewall_policy *policies = NULL;
    size_t count;
    if (runtimes_of(worker->runtimes, worker->db, host, &runtime, err) < 0)
        return -1;
    struct firewall *firewall = runtimes_firewall(worker->runtimes, host->id);
    if (!firewall)
        return 0;
    if (firewall_list(firewall, &policies, &count, err) < 0)
        return -1;
    int result = compare(worker, host->id, firewall, policies, count, err);
    firewall_policies_free(policies, count);
    return result;
}

/* A firewall that cannot be reached stays so for many rounds, so this is not a warning. */
static int try_reconcile(void *context, const struct host *host, struct error **err)
{
    error_auto failure = NULL;
    (void)err;
    if (reconcile_host(context, host, &failure) < 0)
        log_debug("cannot compare the firewall of a host with the database; trying again",
                  LOG_STR("host", host->name), LOG_ERROR(failure));
    return 0;
}

int sandbox_network_reconcile(struct worker *worker, struct error **err)
{
    return hosts_each(worker->db, try_reconcile, worker, NULL, err);
}
