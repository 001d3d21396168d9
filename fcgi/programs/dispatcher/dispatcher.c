/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dispatcher/dispatcher.h"
#include "account/usage_kept.h"

#include "account/account.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "checkpoint/checkpoint.h"
#include "dispatcher/cleanup.h"
#include "dispatcher/jobs.h"
#include "host/host.h"
#include "idempotency/idempotency.h"
#include "metrics/sample.h"
#include "network/denied_names.h"
#include "network/egress_profile.h"
#include "sandbox/lifecycle.h"
#include "sandbox/operation.h"
#include "sandbox/quota.h"
#include "sandbox/sandbox.h"
#include "sandbox/sandbox_network.h"
#include "sandbox/usage.h"
#include "sandbox/warm.h"
#include "template/template.h"
#include "volume/keeper_row.h"
#include "volume/volume.h"
#include "volume/volume_store.h"

#define FAILURE_PAUSE_MS 500 /* with the database away */
#define SAMPLE_POLL_MS   500

/* What a firewall has lost is noticed after at most that long. */
#define FIREWALL_COMPARE_MS 5000

#define BACK_OFF_MIN_MS     500
#define BACK_OFF_MAX_MS     30000

int dispatcher_open(const struct settings *settings, struct worker *worker, struct error **err)
{
    const struct db_statement_list statements[] = {
        account_statements,         checkpoint_statements,
        denied_names_statements,    cleanup_statements,
        egress_profile_statements,  host_statements,
        idempotency_statements,     keeper_statements,
        operation_statements,       plan_statements,
        quota_statements,           sample_statements,
        sandbox_network_statements, sandbox_statements,
        template_build_statements,  template_statements,
        usage_statements,           usage_kept_statements,
        volume_list_statements,     volume_mount_statements,
        volume_statements,          warm_statements,
    };
    return worker_open(settings, DISPATCHER_NAME, statements, ARRAY_SIZE(statements), worker, err);
}

struct queue {
    const char *name;
    int (*next)(struct worker *worker, bool *worked, struct error **err);
    /* Each failure is followed by a longer rest: for work that begins anew each time, and would
     * use up addresses as fast as it fails. */
    bool backs_off;
    unsigned rest_ms;
    int64_t resting_until_ms; /* monotonic */
};

static struct queue policies = {.name = "network policies", .next = sandbox_network_next};
static struct queue builds = {.name = "template builds", .next = template_build_next};
static struct queue removals = {.name = "templates", .next = template_remove_next};
static struct queue deadlines = {.name = "deadlines", .next = sandbox_expire_next};

/* Kinds of due work, most urgent first. */
static struct queue queues[] = {
    {.name = "operations", .next = sandbox_recover_next},
    {.name = "volumes", .next = volume_recover_next},
    {.name = "checkpoints", .next = checkpoint_remove_next},
    {.name = "warm pool", .next = warm_tend_next, .backs_off = true},
};

static void back_off(struct queue *queue)
{
    unsigned rest_ms = queue->rest_ms ? queue->rest_ms * 2 : BACK_OFF_MIN_MS;
    queue->rest_ms = rest_ms < BACK_OFF_MAX_MS ? rest_ms : BACK_OFF_MAX_MS;
    queue->resting_until_ms = clock_monotonic_ms() + queue->rest_ms;
}

/* One piece of work of that kind; true when there was one. */
static bool work_next(struct worker *worker, struct queue *queue)
{
    error_auto err = NULL;
    bool worked = false;
    if (queue->backs_off && clock_monotonic_ms() < queue->resting_until_ms)
        return false;
    int result = queue->next(worker, &worked, &err);
    if (result == 0 && worked)
        queue->rest_ms = 0;
    if (result < 0) {
        if (queue->backs_off)
            back_off(queue);
        log_warning("due work failed", LOG_STR("queue", queue->name), LOG_ERROR(err));
        if (!worked)
            clock_sleep_ms(FAILURE_PAUSE_MS);
    }
    log_context_clear();
    return worked;
}

/* One round over all kinds; true when anything was done. */
static bool work_once(struct worker *worker)
{
    bool any = false;
    for (size_t i = 0; i < ARRAY_SIZE(queues); i++)
        any |= work_next(worker, &queues[i]);
    return any;
}

static int purge_answers(struct worker *worker, struct error **err)
{
    return idempotency_purge(worker->db, err);
}

/* Slow work that nobody waits for. */
static void sweep(struct worker *worker)
{
    static int (*const sweeps[])(struct worker * worker, struct error * *err) = {
        sandbox_sweep, volume_sweep, cleanup_sweep, purge_answers};
    /* One that fails keeps none of the others. */
    for (size_t i = 0; i < ARRAY_SIZE(sweeps); i++) {
        error_auto err = NULL;
        if (sweeps[i](worker, &err) < 0)
            log_warning("background sweep failed", LOG_ERROR(err));
    }
}

void dispatcher_run(struct worker *worker, const volatile sig_atomic_t *stop)
{
    int64_t interval_ms = (int64_t)worker->settings->lease_s * 1000;
    int64_t sweep_at_ms = clock_monotonic_ms() + interval_ms;
    while (!*stop) {
        if (clock_monotonic_ms() >= sweep_at_ms) {
            sweep_at_ms = clock_monotonic_ms() + interval_ms;
            sweep(worker);
        }
        if (!work_once(worker) && !*stop)
            clock_sleep_ms((unsigned)worker->settings->dispatcher_poll_ms);
    }
}

/* Rounds begin at whole multiples of the interval, so that a dispatcher which takes over goes on in
 * the same step. */
void dispatcher_sample(struct worker *worker, const volatile sig_atomic_t *stop)
{
    int64_t interval_ms = (int64_t)worker->settings->metrics_interval_s * 1000;
    int64_t round = clock_now_ms() / interval_ms;
    struct sampler sampler = {0};
    bool more = true; /* to purge */
    while (!*stop) {
        error_auto err = NULL;
        bool due = clock_now_ms() / interval_ms != round;
        round = clock_now_ms() / interval_ms;
        if (due && worker->settings->metrics_retention_h &&
            sample_round(worker, &sampler, &err) < 0)
            log_warning("cannot take samples", LOG_ERROR(err));
        error_clear(&err);
        if ((due || more) && sample_purge(worker, &more, &err) < 0)
            log_warning("cannot delete old samples", LOG_ERROR(err));
        if (!*stop)
            clock_sleep_ms(SAMPLE_POLL_MS);
    }
    sampler_deinit(&sampler);
}

void dispatcher_apply_policies(struct worker *worker, const volatile sig_atomic_t *stop)
{
    int64_t compare_at_ms = 0;
    while (!*stop) {
        if (clock_monotonic_ms() >= compare_at_ms) {
            error_auto err = NULL;
            if (sandbox_network_reconcile(worker, &err) < 0)
                log_warning("cannot compare the firewalls with the recorded policies",
                            LOG_ERROR(err));
            compare_at_ms = clock_monotonic_ms() + FIREWALL_COMPARE_MS;
        }
        if (!work_next(worker, &policies) && !*stop)
            clock_sleep_ms((unsigned)worker->settings->dispatcher_poll_ms);
    }
}

void dispatcher_build(struct worker *worker, const volatile sig_atomic_t *stop)
{
    while (!*stop) {
        bool any = work_next(worker, &builds);
        any |= work_next(worker, &removals);
        if (!any && !*stop)
            clock_sleep_ms((unsigned)worker->settings->dispatcher_poll_ms);
    }
}

void dispatcher_watch(struct worker *worker, const volatile sig_atomic_t *stop)
{
    while (!*stop)
        if (!work_next(worker, &deadlines) && !*stop)
            clock_sleep_ms((unsigned)worker->settings->dispatcher_poll_ms);
}
