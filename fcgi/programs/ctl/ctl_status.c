/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/ctl_db.h"
#include "ctl/output.h"
#include "host/host.h"

#define SANDBOXES_DEFAULT 200

/* --- sandbox list --- */

int ctl_sandbox_list(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    static const struct ctl_column columns[] = {
        {"ID", "id"},
        {"TEAM", "team"},
        {"STATE", "state"},
        {"TEMPLATE", "template"},
        {"CPU", "cpu"},
        {"MEMORY MB", "memory_mb"},
        {"HOST", "host"},
        {"ADDRESS", "address"},
        {"DEADLINE", "deadline"},
    };
    autofree struct ctl_sandbox *list = NULL;
    unsigned count;
    struct team team;
    const char *slug = ctl_text(arguments, "team");
    if (slug && team_get_by_slug(ctl->db, slug, &team, err) < 0)
        return -1;
    if (ctl_db_sandboxes(ctl->db, slug, ctl_number(arguments, "limit", SANDBOXES_DEFAULT), &list,
                         &count, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (unsigned i = 0; i < count; i++) {
        const struct ctl_sandbox *s = &list[i];
        char address[IPV4_TEXT_SIZE];
        json_array_append_new(
            rows, json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:s, s:s, s:s, s:o, s:o}", "id",
                            s->id, "team", s->team, "state", s->state, "template", s->template_slug,
                            "template_version", (int)s->template_version, "cpu", (int)s->cpu,
                            "memory_mb", (int)s->memory_mb, "host", s->host, "instance",
                            s->instance, "address", ipv4_format(s->address, address), "created_at",
                            ctl_json_time(s->created_at_ms), "deadline",
                            ctl_json_time(s->deadline_at_ms)));
    }
    ctl_print_rows(ctl, "sandboxes", rows, columns, ARRAY_SIZE(columns));
    return 0;
}

/* --- status --- */

static int add_sandboxes(struct ctl *ctl, json_t *status, struct error **err)
{
    struct ctl_state_count counts[CTL_STATES_MAX];
    unsigned count;
    uint64_t due;
    if (ctl_db_count_states(ctl->db, counts, &count, err) < 0 ||
        ctl_db_count_due(ctl->db, clock_now_ms(), &due, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(rows, json_pack("{s:s, s:I}", "state", counts[i].state, "count",
                                              (json_int_t)counts[i].count));
    json_object_set_new(status, "sandboxes", rows);
    json_object_set_new(status, "past_deadline", json_integer((json_int_t)due));
    return 0;
}

static int add_hosts(struct ctl *ctl, json_t *status, struct error **err)
{
    struct host *hosts = NULL;
    unsigned count;
    if (host_list(ctl->db, &hosts, &count, err) < 0)
        return -1;
    json_t *rows = json_array();
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        const struct host *h = &hosts[i];
        bool heard = false;
        result = host_is_heard(ctl->db, h->id, &heard, err);
        json_array_append_new(
            rows,
            json_pack("{s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b}", "name",
                      h->name, "state", host_state_names[h->state], "events", heard, "sandboxes",
                      (json_int_t)h->sandboxes, "vcpus", (json_int_t)h->vcpus, "used_vcpus",
                      (json_int_t)h->used_vcpus, "memory_mb", (json_int_t)h->memory_mb,
                      "used_memory_mb", (json_int_t)h->used_memory_mb, "disk_overcommit",
                      (json_int_t)h->disk_overcommit, "pool_mb", (json_int_t)h->storage.total_mb,
                      "pool_used_mb", (json_int_t)h->storage.used_mb, "promised_gb",
                      (json_int_t)h->storage.promised_gb, "pool_nearly_full",
                      h->storage.total_mb && host_pool_is_nearly_full(&h->storage)));
    }
    hosts_free(hosts, count);
    json_object_set_new(status, "hosts", rows);
    return result;
}

static int add_operations(struct ctl *ctl, json_t *status, struct error **err)
{
    struct ctl_operation_count counts[CTL_KINDS_MAX];
    unsigned count;
    if (ctl_db_count_operations(ctl->db, clock_now_ms(), counts, &count, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(rows, json_pack("{s:s, s:I, s:I}", "kind", counts[i].kind, "running",
                                              (json_int_t)counts[i].running, "overdue",
                                              (json_int_t)counts[i].overdue));
    json_object_set_new(status, "operations", rows);
    return 0;
}

/* --- the warm pool --- */

#define DEMAND_MS (15 * 60 * 1000) /* as long as the pool remembers (template/warm_plan.h) */

/* Why some started cold. */
static const char *why_cold(const struct ctl_demand *demand)
{
    if (demand->warm >= demand->creates)
        return "";
    if (demand->creates == 1)
        return "asked for once";
    return demand->waiting ? "more at once than waited"
                           : "none of the size waits: warm_memory_percent may be used up";
}

static int add_demands(struct ctl *ctl, json_t *status, struct error **err)
{
    struct ctl_demand demands[CTL_DEMANDS_MAX];
    unsigned count;
    if (ctl_db_demands(ctl->db, clock_now_ms() - DEMAND_MS, demands, &count, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (unsigned i = 0; i < count; i++) {
        const struct ctl_demand *d = &demands[i];
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

/* --- what is wrong, in sentences --- */

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
        if (json_is_true(json_object_get(host, "pool_nearly_full")))
            problem(problems,
                    "The storage pool of host %s is nearly full, and it takes no new sandboxes, "
                    "volumes and checkpoints: delete what nobody needs, or enlarge the pool.",
                    name);
        if (watched && !json_is_true(json_object_get(host, "events")))
            problem(problems,
                    "The event stream of host %s is down, and it is listed every second instead: "
                    "`sandlotctl doctor` and the log of sandlot-dispatcher say more.",
                    name);
        if (is_active && json_integer_value(json_object_get(host, "used_memory_mb")) >=
                             json_integer_value(json_object_get(host, "memory_mb")))
            problem(
                problems,
                "All memory of host %s is reserved: it takes no more sandboxes until some stop; "
                "`sandlotctl host add` with the same name can raise --memory-mb.",
                name);
    }
    if (!active)
        problem(problems,
                "No host takes new sandboxes: add one with `sandlotctl host add`, or end a "
                "drain with `sandlotctl host activate`.");
}

static int add_problems(struct ctl *ctl, json_t *status, struct error **err)
{
    struct ctl_operation_count counts[CTL_KINDS_MAX];
    unsigned count;
    uint64_t due, overdue = 0;
    bool alive;
    int64_t late_ms = clock_now_ms() - LATE_MS;
    if (host_is_watched(ctl->db, &alive, err) < 0 ||
        ctl_db_count_due(ctl->db, late_ms, &due, err) < 0 ||
        ctl_db_count_operations(ctl->db, late_ms, counts, &count, err) < 0)
        return -1;
    json_t *problems = json_array();
    if (!alive)
        problem(problems, "No dispatcher is alive: start sandlot-dispatcher.");
    if (due)
        problem(problems,
                "%llu sandboxes are past their deadline for more than %d s: look at the log of "
                "sandlot-dispatcher.",
                (unsigned long long)due, LATE_MS / 1000);
    for (unsigned i = 0; i < count; i++)
        overdue += counts[i].overdue;
    if (overdue)
        problem(problems,
                "%llu operations have had no worker for more than %d s: `sandlotctl doctor` names "
                "what keeps them.",
                (unsigned long long)overdue, LATE_MS / 1000);
    add_host_problems(json_object_get(status, "hosts"), alive, problems);
    json_object_set_new(status, "problems", problems);
    return 0;
}

static void print_problems(const json_t *status)
{
    size_t i;
    json_t *sentence;
    const json_t *problems = json_object_get(status, "problems");
    json_array_foreach (problems, i, sentence)
        printf("%sWRONG: %s\n", i ? "" : "\n", json_string_value(sentence));
    if (!json_array_size(problems))
        puts("\nNothing waits that should not; `sandlotctl doctor` looks closer.");
}

static void print_section(const json_t *status, const char *name, const struct ctl_column *columns,
                          unsigned count)
{
    const json_t *rows = json_object_get(status, name);
    printf("%s: ", name);
    if (!json_array_size(rows)) {
        puts("none");
        return;
    }
    putchar('\n');
    ctl_print_table(rows, columns, count);
}

static void print_status(const json_t *status)
{
    static const struct ctl_column sandboxes[] = {{"STATE", "state"}, {"COUNT", "count"}};
    static const struct ctl_column hosts[] = {
        {"NAME", "name"},
        {"STATE", "state"},
        {"EVENTS", "events"},
        {"SANDBOXES", "sandboxes"},
        {"VCPUS", "vcpus"},
        {"RESERVED", "used_vcpus"},
        {"MEMORY MB", "memory_mb"},
        {"RESERVED", "used_memory_mb"},
        {"POOL MB", "pool_mb"},
        {"USED", "pool_used_mb"},
        {"PROMISED GB", "promised_gb"},
    };
    static const struct ctl_column operations[] = {
        {"KIND", "kind"}, {"RUNNING", "running"}, {"OVERDUE", "overdue"}};
    static const struct ctl_column demands[] = {
        {"TEMPLATE", "template"},   {"CPU", "cpu"},
        {"MEMORY MB", "memory_mb"}, {"DISK GB", "disk_gb"},
        {"CREATES", "creates"},     {"WARM", "warm"},
        {"WAITING", "waiting"},     {"COLD BECAUSE", "why_cold"},
    };
    print_section(status, "sandboxes", sandboxes, ARRAY_SIZE(sandboxes));
    printf("past their deadline: %lld\n\n",
           (long long)json_integer_value(json_object_get(status, "past_deadline")));
    print_section(status, "hosts", hosts, ARRAY_SIZE(hosts));
    putchar('\n');
    print_section(status, "operations", operations, ARRAY_SIZE(operations));
    puts("\nof the last 15 minutes:");
    print_section(status, "warm_pool", demands, ARRAY_SIZE(demands));
    print_problems(status);
}

int ctl_status(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    json_auto_t *status = json_object();
    (void)arguments;
    if (add_sandboxes(ctl, status, err) < 0 || add_hosts(ctl, status, err) < 0 ||
        add_operations(ctl, status, err) < 0 || add_demands(ctl, status, err) < 0 ||
        add_problems(ctl, status, err) < 0)
        return -1;
    if (ctl->json)
        ctl_print_json(json_incref(status));
    else
        print_status(status);
    return 0;
}
