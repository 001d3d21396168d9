/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dispatcher/jobs.h"

#include "account/access_end.h"
#include "account/token_key.h"
#include "approval/approval.h"
#include "archive/archive.h"
#include "audit/audit.h"
#include "audit/chain.h"
#include "base/clock.h"
#include "base/log.h"
#include "checkpoint/checkpoint_removal.h"
#include "dispatcher/cleanup.h"
#include "front/front.h"
#include "idempotency/idempotency.h"
#include "joining/join_trial.h"
#include "login/attempt.h"
#include "login/device.h"
#include "login/login.h"
#include "moving/moving.h"
#include "recipe/recipe.h"
#include "recipe/recipe_cache.h"
#include "recipe/recipe_file.h"
#include "retention/retention.h"
#include "sandbox/reservation.h"
#include "sandbox/sandbox_archive.h"
#include "sandbox/sandbox_network.h"
#include "sandbox/sandbox_sessions.h"
#include "sandbox/sandbox_size.h"
#include "secret/changed_secret.h"
#include "secret/secret.h"
#include "template/template_build.h"
#include "template/template_use.h"
#include "template/warm.h"
#include "volume/volume_store.h"

/* A firewall that has lost its state is noticed after this time at most. */
#define FIREWALL_COMPARE_MS 5000
#define APPROVALS_MS        1000
#define SECRETS_MS          10000
#define JOINS_MS            5000 /* the administrator waits for the result */
#define AUDIT_CHAIN_MS      5000
#define AUDIT_CHAIN_MOST_MS 2000 /* in one run: the network policies wait meanwhile */
#define AUDIT_RETAIN_MS     60000
/* Counters change together with their objects. The comparison finds errors in that, and reads every
 * sandbox. */
#define COUNTERS_MS          3600000
#define FRONT_MS             60000
#define ARCHIVE_LOOK_MS      5000
#define TEMPLATE_USES_MS     60000
#define RETENTION_MS         600000
#define BUILD_CACHE_MS       30000
#define RETENTION_MOST_MS    5000 /* in one run; later runs do the rest */
#define AUDIT_RETAIN_MOST_MS 5000
#define DAY_MS               (24 * 60 * 60 * (int64_t)1000)

/* Extend the audit chain, and write its end to the log now and then: the database's administrator
 * cannot change the log. */
static int extend_audit(struct worker *worker, struct error **err)
{
    static struct audit_link said;
    static int64_t due_ms;
    struct audit_link last = said;
    bool more = true;
    int64_t until_ms = clock_monotonic_ms() + AUDIT_CHAIN_MOST_MS;
    while (more && clock_monotonic_ms() < until_ms)
        if (audit_chain_extend(worker->db, worker->ring, &last, &more, err) < 0)
            return -1;
    if (last.seq == said.seq || clock_monotonic_ms() < due_ms)
        return 0;
    log_info("audit chain", LOG_INT("link", last.seq), LOG_STR("hash", last.hash));
    said = last;
    due_ms = clock_monotonic_ms() + (int64_t)worker->settings->audit_anchor_s * 1000;
    return 0;
}

/* Once a day; with many old rows, a part in each minute. */
static int retain_audit(struct worker *worker, struct error **err)
{
    static int64_t due_ms;
    uint64_t removed;
    bool more;
    if (clock_monotonic_ms() < due_ms)
        return 0;
    if (audit_retain(worker->db, worker->ring, AUDIT_RETAIN_MOST_MS, &removed, &more, err) < 0)
        return -1;
    due_ms = clock_monotonic_ms() + (more ? 0 : DAY_MS);
    if (removed)
        log_info("deleted old rows of the audit log", LOG_INT("rows", removed));
    return 0;
}

static int purge_logins(struct worker *worker, struct error **err)
{
    if (login_purge(worker->db, err) < 0 || device_purge(worker->db, err) < 0 ||
        join_purge(worker->db, err) < 0 || audit_refusal_purge(worker->db, err) < 0)
        return -1;
    return attempt_purge(worker->db, err);
}

static int remove_ended_rows(struct worker *worker, struct error **err)
{
    int64_t before_ms = clock_now_ms() - (int64_t)worker->settings->ended_rows_days * DAY_MS;
    int64_t until_ms = clock_monotonic_ms() + RETENTION_MOST_MS;
    bool more = true;
    while (more && clock_monotonic_ms() < until_ms)
        if (retention_remove(worker->db, before_ms, &more, err) < 0)
            return -1;
    return 0;
}

static int spread_secrets(struct worker *worker, bool *worked, struct error **err)
{
    return changed_secret_next(worker->db, worked, err);
}

static int end_tokens(struct worker *worker, bool *worked, struct error **err)
{
    return token_key_expire_next(worker->db, worked, err);
}

static int end_access(struct worker *worker, bool *worked, struct error **err)
{
    return access_end_next(worker->db, worked, err);
}

static int purge_moves(struct worker *worker, struct error **err)
{
    return move_purge(worker->db, clock_now_ms() - DAY_MS, err);
}

static int note_front(struct worker *worker, struct error **err)
{
    return front_note(worker->db, worker->ring, worker->settings, err);
}

/* The interval is a setting, so it is not in the table. */
static int compare_archive(struct worker *worker, struct error **err)
{
    static int64_t due_ms;
    int64_t now_ms = clock_monotonic_ms(), every_s = worker->settings->archive_sweep_s;
    if (!due_ms)
        due_ms = now_ms + every_s * 1000;
    if (now_ms < due_ms)
        return 0;
    due_ms = now_ms + every_s * 1000;
    return archive_sweep(worker, err);
}

/* Operations wait for runtimes, so several run in parallel. */
const struct process dispatcher_processes[PROCESS_COUNT] = {
    [PROCESS_WORK] = {1, NOTIFY_WORK, NULL},
    /* It waits for idle processors. */
    [PROCESS_POOL] = {1, NOTIFY_POOL, warm_hurry},
    [PROCESS_OPERATIONS] = {3, NOTIFY_OPERATIONS, NULL, .team_most = 2},
    /* A host handles this many starts at once well. Forks do not delay other operations. */
    [PROCESS_FORKS] = {4, NOTIFY_FORKS, NULL, .team_most = 3},
    /* Hooks are left while they run, but an agent may be mute for two seconds. */
    [PROCESS_HOOKS] = {6, NOTIFY_OPERATIONS, NULL, .team_most = 2},
    /* Two streams keep disks and the network busy; more would only make each one slower. */
    [PROCESS_MOVES] = {2, NOTIFY_MOVES, NULL},
    [PROCESS_DRAINS] = {2, NOTIFY_MOVES, NULL},
    /* Each process holds a part of an object, about 20 MiB, during a transfer. Storage that does
     * not answer delays no other job. */
    [PROCESS_ARCHIVE] = {2, NOTIFY_NONE, NULL},
    [PROCESS_ARCHIVE_ENDS] = {1, NOTIFY_NONE, NULL},
    [PROCESS_DEADLINES] = {1, NOTIFY_NONE, NULL},
    [PROCESS_HOSTS] = {1, NOTIFY_NONE, NULL},
    [PROCESS_AGENTS] = {1, NOTIFY_NONE, NULL},
    [PROCESS_SAMPLES] = {1, NOTIFY_NONE, NULL},
    [PROCESS_POLICIES] = {1, NOTIFY_POLICIES, NULL},
    [PROCESS_BUILDS] = {1, NOTIFY_BUILDS, NULL},
    /* A build asks a tenant's sandbox and may wait for it; other builds do not wait for that. A
     * turn releases its build for parts of a second. */
    [PROCESS_STEPS] = {2, NOTIFY_BUILDS, NULL, .again_ms = 60},
    [PROCESS_EVENTS] = {1, NOTIFY_NONE, NULL},
    [PROCESS_WEBHOOKS] = {1, NOTIFY_NONE, NULL},
};

struct job dispatcher_jobs[] = {
    /* No job here waits for a runtime. So each deadline is handled within its second, however long
     * the following operation takes. */
    {"deadlines", PROCESS_DEADLINES, .next = sandbox_expire_next, .due = DUE_DEADLINES},
    {"audit chain", PROCESS_POLICIES, .sweep = extend_audit, .every_ms = AUDIT_CHAIN_MS,
     .at_start = true},

    {"operations", PROCESS_OPERATIONS, .next = sandbox_recover_next, .due = DUE_OPERATIONS},
    {"forks", PROCESS_FORKS, .next = sandbox_fork_next, .due = DUE_FORKS},
    {"operations with hooks", PROCESS_HOOKS, .next = sandbox_hooked_next, .due = DUE_HOOKED},
    {"moves", PROCESS_MOVES, .next = sandbox_move_next, .due = DUE_MOVES},
    {"moves for room", PROCESS_MOVES, .next = move_asked_next, .due = DUE_ASKED_MOVES},
    /* First the moves that have started, so that their remains do not pile up. */
    {"moves of all", PROCESS_DRAINS, .next = move_next, .due = DUE_OTHER_MOVES},
    {"sandboxes of lost hosts", PROCESS_DRAINS, .next = sandbox_leave_lost_next, .due = DUE_DRAINS},
    {"drains", PROCESS_DRAINS, .next = sandbox_drain_next, .due = DUE_DRAINS},
    {"drains of all", PROCESS_DRAINS, .next = move_drain_next, .due = DUE_DRAINS},

    {"archive", PROCESS_ARCHIVE, .next = archive_next, .backs_off = true},
    {"archived copies that end", PROCESS_ARCHIVE_ENDS, .next = archive_remove_next,
     .backs_off = true},
    {"pools that fill", PROCESS_ARCHIVE_ENDS, .sweep = sandbox_evict, .every_ms = ARCHIVE_LOOK_MS},
    {"comparison of the archive", PROCESS_ARCHIVE_ENDS, .sweep = compare_archive,
     .every_ms = ARCHIVE_LOOK_MS},

    /* Most urgent first; no request waits for the sweeps. */
    {"orphaned instances", PROCESS_WORK, .sweep = sandbox_sweep},
    {"orphaned volumes", PROCESS_WORK, .sweep = volume_sweep},
    {"clean-up", PROCESS_WORK, .sweep = cleanup_sweep},
    {"counters", PROCESS_WORK, .tidy = reservation_reconcile, .every_ms = COUNTERS_MS},
    {"this front", PROCESS_WORK, .sweep = note_front, .every_ms = FRONT_MS, .at_start = true},
    /* Before the rows of sandboxes are deleted, because it counts them. */
    {"uses of templates", PROCESS_WORK, .tidy = template_uses_count, .every_ms = TEMPLATE_USES_MS,
     .at_start = true},
    {"rows of ended objects", PROCESS_WORK, .sweep = remove_ended_rows, .every_ms = RETENTION_MS},
    {"moves that failed", PROCESS_WORK, .sweep = purge_moves, .every_ms = RETENTION_MS},
    {"kept answers", PROCESS_WORK, .tidy = idempotency_purge},
    {"archives of builds", PROCESS_WORK, .tidy = recipe_files_purge, .every_ms = RETENTION_MS},
    {"cached steps of builds", PROCESS_WORK, .sweep = recipe_cache_purge,
     .every_ms = BUILD_CACHE_MS},
    {"sign-ins that have ended", PROCESS_WORK, .sweep = purge_logins},
    {"audit log's age", PROCESS_WORK, .sweep = retain_audit, .every_ms = AUDIT_RETAIN_MS,
     .at_start = true},
    {"volumes", PROCESS_WORK, .next = volume_recover_next, .due = DUE_VOLUMES},
    {"checkpoints", PROCESS_WORK, .next = checkpoint_remove_next, .due = DUE_CHECKPOINTS},
    {"sizes of sandboxes", PROCESS_WORK, .next = sandbox_size_next, .due = DUE_SIZES},
    {"warm pool", PROCESS_POOL, .next = warm_maintain_next, .backs_off = true},

    /* A firewall that does not answer delays no other job. */
    {"firewalls", PROCESS_POLICIES, .sweep = sandbox_network_reconcile,
     .every_ms = FIREWALL_COMPARE_MS, .at_start = true},
    {"ends of approvals", PROCESS_POLICIES, .tidy = approvals_expire, .every_ms = APPROVALS_MS},
    {"ends of secrets", PROCESS_POLICIES, .tidy = secrets_expire, .every_ms = SECRETS_MS},
    {"changed secrets", PROCESS_POLICIES, .next = spread_secrets, .due = DUE_CHANGED_SECRETS},
    {"tokens of expired keys", PROCESS_POLICIES, .next = end_tokens, .due = DUE_TOKEN_KEYS},
    {"ends of access", PROCESS_POLICIES, .next = end_access, .due = DUE_ENDED_ACCESS},
    {"ends of sessions", PROCESS_POLICIES, .next = sandbox_sessions_next, .due = DUE_SESSIONS},
    {"network policies", PROCESS_POLICIES, .next = sandbox_network_next, .due = DUE_POLICIES},

    {"template builds", PROCESS_BUILDS, .next = template_build_next, .due = DUE_BUILDS},
    {"hosts that join", PROCESS_BUILDS, .sweep = join_try_all, .every_ms = JOINS_MS},
    {"template removals", PROCESS_BUILDS, .next = template_remove_next, .due = DUE_REMOVALS},
    {"template steps", PROCESS_STEPS, .next = recipe_next, .due = DUE_RECIPES},

    {"samples", PROCESS_SAMPLES, .serve = sample_serve},
    {"events", PROCESS_EVENTS, .serve = events_serve},
    {"webhooks", PROCESS_WEBHOOKS, .serve = webhooks_serve},
    {"hosts", PROCESS_HOSTS, .serve = hosts_monitor_serve},
    {"agents", PROCESS_AGENTS, .serve = agents_serve},
    {.process = PROCESS_COUNT},
};
