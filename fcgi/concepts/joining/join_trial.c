/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "joining/join_trial.h"

#include <stdio.h>
#include <string.h>

#include "base/fault_point.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/link_ask.h"
#include "joining/join_row.h"
#include "network/firewall_client.h"
#include "runtime/agent_client.h"
#include "template/template_source.h"

#define NAME_PREFIX     "join-"
#define ID_PREFIX       "jhn_"
#define AGAIN_MS        5000
#define ASK_MOST_MS     3000
#define TRIAL_DISK_GB   1
#define COMMAND_WAIT_MS 15000
/* A command that needs a shell, a user and a disk. */
#define LINE "test \"$(id -un)\" = user && echo tried >joined && grep -q tried joined"

struct trial {
    struct worker *worker;
    struct join join;
    struct host host;
    struct lease lease;
    struct runtime *runtime;
    struct template_version version; /* of the default template */
    char name[INSTANCE_NAME_SIZE];   /* the same for all attempts */
};

static int renew(void *context, struct error **err)
{
    struct trial *trial = context;
    return lease_tick(&trial->lease, err);
}

int join_trial_knows(struct worker *worker, const char *instance_name, bool *known,
                     struct error **err)
{
    char id[ID_SIZE];
    *known = false;
    if (!str_starts_with(instance_name, NAME_PREFIX))
        return 0;
    snprintf(id, sizeof id, ID_PREFIX "%s", instance_name + strlen(NAME_PREFIX));
    return id_is_valid(ID_PREFIX, id) ? join_row_is_tried(worker->db, id, known, err) : 0;
}

/* --- the programs that must answer --- */

static int reach_incus(struct trial *trial, struct error **err)
{
    struct worker *worker = trial->worker;
    if (runtimes_get(worker->runtimes, worker->db, trial->host.id, &trial->runtime, err) < 0)
        return -1;
    trial->runtime->tick = renew;
    trial->runtime->tick_context = trial;
    return trial->runtime->ops->prepare(trial->runtime, err);
}

static int reach_relay(struct trial *trial, struct error **err)
{
    const struct http_link *link;
    int64_t expires_at_ms;
    struct worker *worker = trial->worker;
    if (runtimes_link(worker->runtimes, worker->db, trial->host.id, &link, err) < 0)
        return -1;
    if (!link)
        return error_set(err, ERR_CONFIG, "relay_dir is not set on this dispatcher's machine");
    return http_link_ask(link, ASK_MOST_MS, &expires_at_ms, err);
}

static int reach_firewall(struct trial *trial, struct error **err)
{
    struct firewall_policy *policies = NULL;
    size_t count;
    struct firewall *firewall = runtimes_firewall(trial->worker->runtimes, trial->host.id);
    if (!firewall)
        return error_set(err, ERR_CONFIG, "it has no address");
    int result = firewall_list(firewall, &policies, &count, err);
    firewall_policies_free(policies, result == 0 ? count : 0);
    return result;
}

static int reach(struct trial *trial, struct error **err)
{
    const struct host *host = &trial->host;
    if (reach_incus(trial, err) < 0)
        return error_context(err,
                             "cannot connect to Incus of the new machine at %s; check the "
                             "firewalls between the front nodes and it",
                             host->url);
    if (reach_relay(trial, err) < 0)
        return error_context(err,
                             "cannot connect to the relay of the new machine at %s; check nginx "
                             "there, and the firewalls between the front nodes and it",
                             host->relay_url);
    return reach_firewall(trial, err) < 0
               ? error_context(err, "sandlot-firewall on the new machine does not answer")
               : 0;
}

/* --- templates --- */

/* Only the default template is required. A host without the others cannot start sandboxes from
 * them. */
static int fetch_sources(struct trial *trial, struct error **err)
{
    struct worker *worker = trial->worker;
    autofree struct template_version *missing = NULL;
    unsigned count;
    if (template_missing_sources(worker->db, trial->host.id, &missing, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++) {
        const struct template_version *version = &missing[i];
        error_auto failure = NULL;
        if (template_source_fetch(worker->db, worker->runtimes, version, trial->host.id,
                                  trial->runtime, &failure) == 0)
            continue;
        if (failure->code == ERR_LEASE_LOST)
            return error_move(err, &failure);
        error_context(&failure, "template %s:%u", version->slug, version->version);
        if (str_equal(version->id, trial->version.id))
            return error_move(err, &failure);
        log_warning("cannot copy a template to a host that is joining; sandboxes of this template "
                    "start on other hosts",
                    LOG_STR("host", trial->host.name), LOG_ERROR(failure));
    }
    return 0;
}

static int find_template(struct trial *trial, struct error **err)
{
    const char *slug = trial->worker->settings->default_template;
    if (template_resolve(trial->worker->db, TEAM_DEPLOYMENT_ID, slug, "default_template",
                         &trial->version, err) == 0)
        return 0;
    return error_context(err,
                         "the trial sandbox needs the default template, %s, which must be ready on "
                         "another host (`sandlotctl template list`)",
                         slug);
}

/* --- a sandbox --- */

static int release_body(struct db *db, void *context, struct error **err)
{
    return host_address_release(db, 0, context, err);
}

static int end_sandbox(struct trial *trial, struct error **err)
{
    if (trial->runtime->ops->destroy(trial->runtime, trial->name, err) < 0)
        return -1;
    return db_transaction(trial->worker->db, release_body, trial->name, err);
}

struct claiming {
    const struct trial *trial;
    uint32_t address;
};

static int claim_body(struct db *db, void *context, struct error **err)
{
    struct claiming *claiming = context;
    return host_address_claim(db, claiming->trial->host.id, claiming->trial->name,
                              &claiming->address, err);
}

static int create_sandbox(struct trial *trial, struct agent_place *at, struct error **err)
{
    struct worker *worker = trial->worker;
    struct claiming claiming = {.trial = trial};
    char address[IPV4_TEXT_SIZE], source[INSTANCE_NAME_SIZE];
    runtime_source_name(trial->version.id, source);
    struct runtime_instance instance = {
        .name = trial->name,
        .source = source,
        .sandbox_id = "",
        .virtual_machine = trial->version.virtual_machine,
        .net_admin = trial->version.net_admin,
        .resources = {trial->version.cpu, trial->version.memory_mb, TRIAL_DISK_GB},
    };
    if (db_transaction(worker->db, claim_body, &claiming, err) < 0 ||
        runtimes_agent(worker->runtimes, worker->db, trial->host.id, claiming.address, at, err) < 0)
        return -1;
    instance.address = ipv4_format(claiming.address, address);
    return trial->runtime->ops->create(trial->runtime, &instance, err);
}

static int run_command(struct trial *trial, const struct agent_place *at, struct error **err)
{
    const struct keyring *ring = trial->worker->ring;
    char secret[AGENT_SECRET_SIZE];
    struct deadline until = deadline_in_ms(COMMAND_WAIT_MS);
    int exit_code = -1;
    struct agent_init init = {
        .sandbox_id = trial->join.id,
        .route = "",
        .template = trial->version.slug,
        .secret = secret,
        .envs = "",
    };
    int result = agent_secret(ring, trial->name, keyring_newest(ring), secret, err);
    if (result == 0)
        result = agent_init(at, &init, deadline_within_ms(until, AGENT_WAIT_MS), err) < 0
                     ? -1
                     : agent_run(at, secret, LINE, until, &exit_code, err);
    mem_wipe(secret, sizeof secret);
    if (result == 0 && exit_code != 0)
        return error_set(err, ERR_RUNTIME_FAILED, "a command in the sandbox ended with status %d",
                         exit_code);
    return result;
}

static int use_sandbox(struct trial *trial, struct error **err)
{
    struct agent_place at;
    if (create_sandbox(trial, &at, err) < 0)
        return error_context(err, "cannot create the trial sandbox");
    fault_point(FAULT_JOIN_TRIED);
    if (agent_wait(&at,
                   deadline_in_ms(worker_start_wait_ms(trial->worker->settings,
                                                       trial->version.virtual_machine)),
                   renew, trial, err) < 0 ||
        run_command(trial, &at, err) < 0)
        return error_context(err, "cannot use the trial sandbox, which was started; check the "
                                  "packet filter of the new machine");
    return 0;
}

static int try_sandbox(struct trial *trial, struct error **err)
{
    error_auto second = NULL;
    if (end_sandbox(trial, err) < 0)
        return -1;
    int result = use_sandbox(trial, err);
    if (result < 0 && (*err)->code == ERR_LEASE_LOST)
        trial->runtime->tick = NULL; /* remove our instance even without the lease */
    if (end_sandbox(trial, &second) == 0)
        return result;
    if (result < 0)
        return -1;
    error_move(err, &second);
    return error_context(err, "cannot delete the trial sandbox");
}

/* --- one attempt --- */

static int done_body(struct db *db, void *context, struct error **err)
{
    const struct trial *trial = context;
    return host_joined(db, trial->host.id, err) < 0 ? -1 : join_row_done(db, trial->join.id, err);
}

static int attempt(struct trial *trial, struct error **err)
{
    if (reach(trial, err) < 0 || find_template(trial, err) < 0 || fetch_sources(trial, err) < 0 ||
        try_sandbox(trial, err) < 0 || lease_check(&trial->lease, err) < 0)
        return -1;
    fault_point(FAULT_JOIN_FINISHING);
    return db_transaction(trial->worker->db, done_body, trial, err);
}

static int note(struct trial *trial, struct error **failure, struct error **err)
{
    struct worker *worker = trial->worker;
    if ((*failure)->code == ERR_LEASE_LOST)
        return error_move(err, failure);
    log_warning("the trial of a joining host failed; trying again",
                LOG_STR("host", trial->join.name), LOG_ERROR(*failure));
    return join_row_fail(worker->db, trial->join.id, worker->lease_owner, (*failure)->message,
                         AGAIN_MS, err);
}

static int try_host(struct trial *trial, struct error **err)
{
    error_auto failure = NULL;
    struct worker *worker = trial->worker;
    if (host_get_by_name(worker->db, trial->join.name, &trial->host, &failure) < 0)
        return note(trial, &failure, err);
    int result = attempt(trial, &failure);
    if (trial->runtime)
        trial->runtime->tick = NULL;
    host_deinit(&trial->host);
    if (result < 0)
        return note(trial, &failure, err);
    log_info("a host has joined the deployment", LOG_STR("host", trial->join.name));
    return 0;
}

/* *worked: there was one. */
static int try_next(struct worker *worker, bool *worked, struct error **err)
{
    struct trial trial = {.worker = worker};
    char id[ID_SIZE];
    bool found;
    *worked = false;
    if (join_row_next(worker->db, worker->lease_owner, worker->settings->lease_s, id, err) < 0 ||
        !*id)
        return *err ? -1 : 0;
    *worked = true;
    join_row_keep(worker->db, id, worker->lease_owner, worker->settings->lease_s, &trial.lease);
    if (join_row_get(worker->db, id, &trial.join, &found, err) < 0 || !found)
        return *err ? -1 : 0;
    snprintf(trial.name, sizeof trial.name, NAME_PREFIX "%s", id + strlen(ID_PREFIX));
    fault_point(FAULT_JOIN_TAKEN);
    int result = try_host(&trial, err);
    join_deinit(&trial.join);
    return result;
}

int join_try_all(struct worker *worker, struct error **err)
{
    bool worked = true;
    while (worked)
        if (try_next(worker, &worked, err) < 0)
            return -1;
    return 0;
}
