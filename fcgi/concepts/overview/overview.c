/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "overview/overview.h"

#include <stdarg.h>

#include "archive/archive.h"
#include "base/clock.h"
#include "base/json_make.h"
#include "base/mem.h"
#include "base/str.h"
#include "event/event.h"
#include "host/host.h"
#include "joining/join.h"
#include "moving/moving.h"
#include "overview/overview_db.h"
#include "webhook/webhook.h"

static int add_sandboxes(struct db *db, json_t *status, struct error **err)
{
    struct state_count counts[OVERVIEW_STATES_MAX];
    unsigned count;
    uint64_t due;
    if (overview_count_states(db, counts, &count, err) < 0 ||
        overview_count_due(db, clock_now_ms(), &due, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(rows, json_pack("{s:s, s:I}", "state", counts[i].state, "count",
                                              (json_int_t)counts[i].count));
    json_object_set_new(status, "sandboxes", rows);
    json_object_set_new(status, "past_deadline", json_integer((json_int_t)due));
    return 0;
}

static int add_hosts(struct db *db, json_t *status, struct error **err)
{
    struct host *hosts = NULL;
    unsigned count;
    if (host_list(db, &hosts, &count, err) < 0)
        return -1;
    json_t *rows = json_array();
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        const struct host *h = &hosts[i];
        bool heard = false;
        int64_t since_ms;
        const char *condition = host_condition_name(&h->condition, &since_ms);
        result = host_is_heard(db, h->id, &heard, err);
        json_array_append_new(
            rows,
            json_pack(
                "{s:s, s:s, s:s, s:o, s:b, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b}",
                "name", h->name, "state", host_state_names[h->state], "condition", condition,
                "since", time_to_json(since_ms), "events", heard, "memory_low", h->memory_low,
                "sandboxes", (json_int_t)h->sandboxes, "vcpus", (json_int_t)h->vcpus, "used_vcpus",
                (json_int_t)h->used_vcpus, "memory_mb", (json_int_t)h->memory_mb, "used_memory_mb",
                (json_int_t)h->used_memory_mb, "disk_overcommit", (json_int_t)h->disk_overcommit,
                "pool_mb", (json_int_t)h->storage.total_mb, "pool_used_mb",
                (json_int_t)h->storage.used_mb, "promised_gb", (json_int_t)h->storage.promised_gb,
                "pool_nearly_full", h->storage.total_mb && host_pool_is_nearly_full(&h->storage)));
    }
    hosts_free(hosts, count);
    json_object_set_new(status, "hosts", rows);
    return result;
}

static int add_operations(struct db *db, json_t *status, struct error **err)
{
    struct operation_count counts[OVERVIEW_KINDS_MAX];
    unsigned count;
    if (overview_count_operations(db, clock_now_ms(), counts, &count, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(rows, json_pack("{s:s, s:I, s:I}", "kind", counts[i].kind, "running",
                                              (json_int_t)counts[i].running, "overdue",
                                              (json_int_t)counts[i].overdue));
    json_object_set_new(status, "operations", rows);
    return 0;
}

/* Moves of paused sandboxes are operations, and are counted there. */
static int add_moves(struct db *db, json_t *status, struct error **err)
{
    struct move_count counts[MOVE_COUNTS_MAX];
    unsigned count;
    if (move_counts(db, counts, &count, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(rows,
                              json_pack("{s:s, s:s, s:I, s:s}", "kind", counts[i].kind, "state",
                                        counts[i].state, "count", (json_int_t)counts[i].count,
                                        "last_error", counts[i].last_error));
    json_object_set_new(status, "moves", rows);
    return 0;
}

/* --- the warm pool --- */

#define DEMAND_MS (15 * 60 * 1000) /* as long as the warm pool remembers (template/warm_plan.h) */

/* Return why some creates got no warm instance; "" if all got one. */
static const char *why_cold(const struct demand *demand)
{
    if (demand->warm >= demand->creates)
        return "";
    if (demand->creates == 1)
        return "asked for once";
    return demand->waiting ? "more at once than waited"
                           : "none of the size waits: warm_memory_percent may be used up";
}

static int add_demands(struct db *db, json_t *status, struct error **err)
{
    struct demand demands[OVERVIEW_DEMANDS_MAX];
    unsigned count;
    if (overview_demands(db, clock_now_ms() - DEMAND_MS, demands, &count, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (unsigned i = 0; i < count; i++) {
        const struct demand *d = &demands[i];
        json_array_append_new(rows, json_pack("{s:s, s:i, s:i, s:i, s:I, s:I, s:I, s:s}",
                                              "template", d->template_slug, "cpu", (int)d->cpu,
                                              "memory_mb", (int)d->memory_mb, "disk_gb",
                                              (int)d->disk_gb, "creates", (json_int_t)d->creates,
                                              "warm", (json_int_t)d->warm, "waiting",
                                              (json_int_t)d->waiting, "why_cold", why_cold(d)));
    }
    json_object_set_new(status, "warm_pool", rows);
    return 0;
}

static int add_events(struct db *db, json_t *status, struct error **err)
{
    uint64_t count, lag_ms, behind, dead;
    if (event_backlog(db, &count, &lag_ms, err) < 0 || webhook_backlog(db, &behind, &dead, err) < 0)
        return -1;
    json_object_set_new(
        status, "webhooks",
        json_pack("{s:I, s:I}", "behind", (json_int_t)behind, "dead_letters", (json_int_t)dead));
    json_object_set_new(status, "events",
                        json_pack("{s:I, s:I}", "waiting", (json_int_t)count, "lag_s",
                                  (json_int_t)(lag_ms / 1000)));
    return 0;
}

/* --- problems, in sentences --- */

#define LATE_MS 10000

static void problem(json_t *problems, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void problem(json_t *problems, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    autofree char *sentence = xvasprintf(format, ap);
    va_end(ap);
    json_array_append_new(problems, json_string(sentence));
}

/* For each machine that is joining: say which step is missing. */
static int add_join_problems(struct db *db, json_t *problems, struct error **err)
{
    struct join *joins = NULL;
    unsigned count = 0;
    char since[CLOCK_ISO8601_SIZE];
    if (join_list(db, &joins, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++) {
        clock_format_iso8601(joins[i].since_ms, since);
        if (joins[i].state == JOIN_TAKEN)
            problem(problems,
                    "%s has been joining since %s: the machine at %s has not reported that it is "
                    "set up.",
                    joins[i].name, since, joins[i].address);
        else if (joins[i].state == JOIN_TRIAL)
            problem(problems,
                    "%s has been set up since %s, and its trial sandbox has not run yet%s%s",
                    joins[i].name, since, *joins[i].failure ? ": " : ".", joins[i].failure);
    }
    joins_free(joins, count);
    return 0;
}

static bool is_in_condition(const json_t *host, const char *condition)
{
    return str_equal(json_string_value(json_object_get(host, "condition")), condition);
}

static void add_host_problems(const json_t *hosts, bool watched, json_t *problems)
{
    size_t i;
    json_t *host;
    unsigned active = 0;
    json_array_foreach (hosts, i, host) {
        const char *name = json_string_value(json_object_get(host, "name"));
        bool is_active = str_equal(json_string_value(json_object_get(host, "state")),
                                   host_state_names[HOST_ACTIVE]);
        active += is_active;
        if (str_equal(json_string_value(json_object_get(host, "state")),
                      host_state_names[HOST_JOINING]))
            continue;
        if (json_is_true(json_object_get(host, "pool_nearly_full")))
            problem(problems,
                    "The storage pool of host %s is nearly full, and the host takes no new "
                    "sandboxes, volumes and checkpoints. Delete unused ones, or enlarge the pool.",
                    name);
        if (is_in_condition(host, "down"))
            problem(
                problems,
                "Host %s does not answer: its sandboxes cannot be reached, and new sandboxes start "
                "on other hosts. If the host is lost for good, run `sandlotctl host lost %s`.",
                name, name);
        else if (is_in_condition(host, "silent"))
            problem(problems,
                    "Incus on host %s does not answer: its sandboxes keep running, and no sandbox "
                    "can start, pause or resume there.",
                    name);
        else if (watched && !is_in_condition(host, "lost") &&
                 !json_is_true(json_object_get(host, "events")))
            problem(
                problems,
                "The event stream of host %s is down, and the dispatcher lists its instances every "
                "second instead: see `sandlotctl doctor` and the log of sandlot-dispatcher.",
                name);
        if (is_active && json_integer_value(json_object_get(host, "used_memory_mb")) >=
                             json_integer_value(json_object_get(host, "memory_mb")))
            problem(problems,
                    "All memory of host %s is reserved: it gets no more sandboxes until you pause "
                    "or delete some. "
                    "If the machine has more memory, raise --memory-mb with `sandlotctl host add` "
                    "and the same name.",
                    name);
    }
    if (!active)
        problem(problems,
                "No host takes new sandboxes: add one with `sandlotctl host add`, or end a "
                "drain with `sandlotctl host activate`.");
}

static int add_problems(struct db *db, json_t *status, struct error **err)
{
    struct operation_count counts[OVERVIEW_KINDS_MAX];
    unsigned count;
    uint64_t due, overdue = 0;
    bool alive;
    int64_t late_ms = clock_now_ms() - LATE_MS;
    if (host_is_watched(db, &alive, err) < 0 || overview_count_due(db, late_ms, &due, err) < 0 ||
        overview_count_operations(db, late_ms, counts, &count, err) < 0)
        return -1;
    json_t *problems = json_array();
    if (!alive)
        problem(problems, "No dispatcher runs: start sandlot-dispatcher.");
    if (due)
        problem(problems,
                "%llu sandboxes are past their deadline for more than %d s: read the log of "
                "sandlot-dispatcher.",
                (unsigned long long)due, LATE_MS / 1000);
    for (unsigned i = 0; i < count; i++)
        overdue += counts[i].overdue;
    if (overdue)
        problem(problems,
                "%llu operations have had no worker for more than %d s: `sandlotctl doctor` shows "
                "the reason.",
                (unsigned long long)overdue, LATE_MS / 1000);
    if (json_integer_value(json_object_get(json_object_get(status, "events"), "lag_s")) >
        LATE_MS / 1000)
        problem(problems,
                "New events have waited more than %d s before clients could read them: read the "
                "log of sandlot-dispatcher.",
                LATE_MS / 1000);
    add_host_problems(json_object_get(status, "hosts"), alive, problems);
    json_object_set_new(status, "problems", problems);
    return add_join_problems(db, problems, err);
}

/* --- the archive --- */

static int add_archive(struct db *db, const struct settings *settings, json_t *status,
                       struct error **err)
{
    struct archive_report report;
    if (!archive_is_on(settings))
        return 0;
    if (archive_report(db, settings->archive_after_s, &report, err) < 0)
        return -1;
    json_int_t sandboxes = (json_int_t)report.whole[ARCHIVE_SANDBOX],
               checkpoints = (json_int_t)report.whole[ARCHIVE_CHECKPOINT];
    json_object_set_new(
        status, "archive",
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:o, s:s, s:I}", "url",
                  settings->archive_url, "copies", sandboxes + checkpoints, "sandboxes", sandboxes,
                  "checkpoints", checkpoints, "bytes", (json_int_t)report.whole_bytes, "newest",
                  time_to_json(report.newest_at_ms), "storing", (json_int_t)report.storing,
                  "failing", (json_int_t)report.failing, "removing", (json_int_t)report.removing,
                  "behind", (json_int_t)report.behind, "behind_since",
                  time_to_json(report.behind_since_ms), "last_error", report.failure, "evicted",
                  (json_int_t)report.evicted));
    if (report.failing)
        problem(json_object_get(status, "problems"), "%llu copies to the archive have failed: %s.",
                (unsigned long long)report.failing, report.failure);
    return 0;
}

int overview_read(struct db *db, const struct settings *settings, json_t **overview,
                  struct error **err)
{
    json_auto_t *status = json_object();
    if (add_sandboxes(db, status, err) < 0 || add_hosts(db, status, err) < 0 ||
        add_operations(db, status, err) < 0 || add_moves(db, status, err) < 0 ||
        add_demands(db, status, err) < 0 || add_events(db, status, err) < 0 ||
        add_problems(db, status, err) < 0 || add_archive(db, settings, status, err) < 0)
        return -1;
    *overview = json_incref(status);
    return 0;
}
