/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metrics/gauges.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/mem.h"

#define MIB 1048576

/* Each row has the value of the label, and a number for each gauge of its family. */
DB_STATEMENT(hosts_statement) = {
    "gauge.hosts",
    "SELECT h.name, h.state = 'active', h.sandboxes, h.vcpus, h.used_vcpus, h.memory_mb,"
    " h.used_memory_mb, COALESCE(p.total_mb, 0), COALESCE(p.used_mb, 0)"
    " FROM hosts h LEFT JOIN host_pools p ON p.host_id = h.id ORDER BY h.name LIMIT 10000"};
DB_STATEMENT(teams_statement) = {
    "gauge.teams", "SELECT slug, used_sandboxes, stopped_sandboxes FROM teams"
                   " WHERE removed_at_ms IS NULL ORDER BY used_sandboxes DESC, slug LIMIT ?"};
DB_STATEMENT(warm_statement) = {"gauge.warm",
                                "SELECT state, COUNT(*) FROM warm_instances GROUP BY state"};
DB_STATEMENT(operations_statement) = {
    "gauge.operations",
    "SELECT kind, COUNT(*), CAST(GREATEST(? - MIN(created_at_ms), 0) AS UNSIGNED) DIV 1000"
    " FROM operations WHERE state = 'running' GROUP BY kind"};

DB_STATEMENT(events_statement) = {
    "gauge.events",
    "SELECT 'outbox', COUNT(*), CAST(COALESCE(GREATEST(? - MIN(at_ms), 0), 0) AS UNSIGNED) DIV 1000"
    " FROM event_outbox"};

DB_STATEMENT(webhooks_statement) = {"gauge.webhooks",
                                    "SELECT state, COUNT(*) FROM webhook_messages GROUP BY state"};

DB_STATEMENT(archive_statement) = {
    "gauge.archive",
    "SELECT state, COUNT(*), CAST(COALESCE(SUM(stored_bytes), 0) AS UNSIGNED),"
    " CAST(SUM(failure <> '') AS UNSIGNED), COALESCE(MAX(whole_at_ms), 0) DIV 1000, kind"
    " FROM archives GROUP BY state, kind"};

struct gauge {
    const char *name, *help;
    uint64_t unit; /* factor for the number in the row */
};

static const struct gauge host_gauges[] = {
    {"sandlot_host_active", "Whether the host takes new sandboxes.", 1},
    {"sandlot_host_sandboxes", "Sandboxes that have a reservation on the host.", 1},
    {"sandlot_host_vcpus", "Virtual processors that sandboxes of the host may reserve.", 1},
    {"sandlot_host_reserved_vcpus", "Virtual processors that are reserved.", 1},
    {"sandlot_host_memory_bytes", "Memory that sandboxes of the host may reserve.", MIB},
    {"sandlot_host_reserved_memory_bytes", "Memory that is reserved.", MIB},
    {"sandlot_host_pool_bytes", "Size of the host's storage pool.", MIB},
    {"sandlot_host_pool_used_bytes", "Used bytes of the storage pool.", MIB},
};
static const struct gauge team_gauges[] = {
    {"sandlot_team_sandboxes", "Running sandboxes of a team.", 1},
    {"sandlot_team_stopped_sandboxes", "Paused sandboxes of a team.", 1},
};
static const struct gauge warm_gauges[] = {
    {"sandlot_warm_instances", "Warm instances that wait for a create, or are being prepared.", 1},
};
static const struct gauge operation_gauges[] = {
    {"sandlot_operations_running", "Lifecycle operations that have not ended.", 1},
    {"sandlot_operations_oldest_seconds",
     "Age of the oldest lifecycle operation that has not ended.", 1},
};
static const struct gauge event_gauges[] = {
    {"sandlot_events_waiting", "Events that no client can read and no webhook sends yet.", 1},
    {"sandlot_events_lag_seconds", "Age of the oldest of these events.", 1},
};

static const struct gauge webhook_gauges[] = {
    {"sandlot_webhook_messages", "Messages of webhooks: to send again, dead letters, tests.", 1},
};

static const struct gauge archive_gauges[] = {
    {"sandlot_archive_copies", "Copies in the archive, or being written there.", 1},
    {"sandlot_archive_bytes", "Bytes of these copies in the archive.", 1},
    {"sandlot_archive_failing_copies", "Copies whose last attempt has failed.", 1},
    {"sandlot_archive_newest_timestamp_seconds", "Time at which the newest copy was finished.", 1},
};

struct family {
    const struct db_statement *statement;
    const char *label;
    const struct gauge *gauges;
    size_t count;
    const char *second; /* a second label, from the column after the numbers; NULL: none */
};

#define NUMBERS_MAX 8

struct row {
    char label[128], second[32];
    uint64_t numbers[NUMBERS_MAX];
};

/* Each gauge of a family repeats all its rows, so they are kept. */
static void format_gauges(const struct family *family, const struct row *rows, size_t row_count,
                          struct buffer *out)
{
    for (size_t i = 0; i < family->count; i++) {
        const struct gauge *gauge = &family->gauges[i];
        buffer_printf(out, "# TYPE %s gauge\n# HELP %s %s\n", gauge->name, gauge->name,
                      gauge->help);
        for (size_t k = 0; k < row_count; k++) {
            buffer_printf(out, "%s{%s=\"%s\"", gauge->name, family->label, rows[k].label);
            if (family->second)
                buffer_printf(out, ",%s=\"%s\"", family->second, rows[k].second);
            buffer_printf(out, "} %" PRIu64 "\n", rows[k].numbers[i] * gauge->unit);
        }
    }
}

static int format_family(struct db *db, const struct family *family, const struct db_value *args,
                         size_t arg_count, struct buffer *out, struct error **err)
{
    db_rows_auto *found = NULL;
    autofree struct row *rows = NULL;
    size_t count = 0, capacity = 0;
    if (db_query(db, family->statement, args, arg_count, &found, err) < 0)
        return -1;
    while (db_rows_next(found)) {
        if (count == capacity)
            rows = xreallocarray(rows, capacity = capacity ? capacity * 2 : 16, sizeof *rows);
        db_copy_text(rows[count].label, found, 0);
        for (size_t i = 0; i < family->count; i++)
            rows[count].numbers[i] = db_get_u64(found, (unsigned)i + 1);
        if (family->second)
            db_copy_text(rows[count].second, found, (unsigned)family->count + 1);
        count++;
    }
    format_gauges(family, rows, count, out);
    return 0;
}

int gauges_format(struct db *db, struct buffer *out, struct error **err)
{
    static const struct family hosts = {&hosts_statement, "host", host_gauges,
                                        ARRAY_SIZE(host_gauges), NULL};
    static const struct family teams = {&teams_statement, "team", team_gauges,
                                        ARRAY_SIZE(team_gauges), NULL};
    static const struct family warm = {&warm_statement, "state", warm_gauges,
                                       ARRAY_SIZE(warm_gauges), NULL};
    static const struct family operations = {&operations_statement, "kind", operation_gauges,
                                             ARRAY_SIZE(operation_gauges), NULL};
    static const struct family events = {&events_statement, "queue", event_gauges,
                                         ARRAY_SIZE(event_gauges), NULL};
    if (format_family(db, &hosts, DB_NO_ARGS, out, err) < 0 ||
        format_family(db, &teams, DB_ARGS(db_u64(GAUGE_TEAMS_MAX)), out, err) < 0 ||
        format_family(db, &warm, DB_NO_ARGS, out, err) < 0)
        return -1;
    static const struct family webhooks = {&webhooks_statement, "state", webhook_gauges,
                                           ARRAY_SIZE(webhook_gauges), NULL};
    struct db_value now = db_i64(clock_now_ms());
    if (format_family(db, &operations, DB_ARGS(now), out, err) < 0)
        return -1;
    if (format_family(db, &events, DB_ARGS(now), out, err) < 0)
        return -1;
    static const struct family archive = {&archive_statement, "state", archive_gauges,
                                          ARRAY_SIZE(archive_gauges), "kind"};
    return format_family(db, &webhooks, DB_NO_ARGS, out, err) < 0
               ? -1
               : format_family(db, &archive, DB_NO_ARGS, out, err);
}
