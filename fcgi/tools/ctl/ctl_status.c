/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/ipv4.h"
#include "base/mem.h"
#include "base/state_words.h"
#include "ctl/output.h"
#include "host/host.h"
#include "overview/overview.h"
#include "overview/overview_db.h"

#define SANDBOXES_DEFAULT 200

/* --- sandbox list --- */

/* An empty list for a name that is mistyped would say that nothing is there. */
static int check_filter(struct ctl *ctl, const struct operated_filter *filter, struct error **err)
{
    struct team team;
    struct host host = {0};
    if (filter->team && team_get_by_slug(ctl->db, filter->team, &team, err) < 0)
        return -1;
    int result = filter->host ? host_get_by_name(ctl->db, filter->host, &host, err) : 0;
    host_deinit(&host);
    return result;
}

int ctl_sandbox_list(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    static const struct ctl_column columns[] = {
        {"NAME", "name"},           {"ID", "id"},
        {"TEAM", "team"},           {"STATE", "state"},
        {"TEMPLATE", "template"},   {"CPU", "cpu"},
        {"MEMORY MB", "memory_mb"}, {"HOST", "host"},
        {"ADDRESS", "address"},     {"DEADLINE", "deadline"},
    };
    autofree struct operated_sandbox *list = NULL;
    unsigned count;
    const struct operated_filter filter = {.team = ctl_text(arguments, "team"),
                                           .host = ctl_text(arguments, "host")};
    if (check_filter(ctl, &filter, err) < 0 ||
        overview_sandboxes(ctl->db, &filter, ctl_number(arguments, "limit", SANDBOXES_DEFAULT),
                           &list, &count, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (unsigned i = 0; i < count; i++) {
        const struct operated_sandbox *s = &list[i];
        char address[IPV4_TEXT_SIZE];
        json_array_append_new(
            rows,
            json_pack("{s:s?, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:s, s:s, s:s, s:o, s:o}", "name",
                      *s->name ? s->name : NULL, "id", s->id, "team", s->team, "state",
                      ctl->json ? s->state : state_word(s->state), "template", s->template_slug,
                      "template_version", (int)s->template_version, "cpu", (int)s->cpu, "memory_mb",
                      (int)s->memory_mb, "host", s->host, "instance", s->instance, "address",
                      ipv4_format(s->address, address), "created_at",
                      time_to_json(s->created_at_ms), "deadline", time_to_json(s->deadline_at_ms)));
    }
    ctl_print_rows(ctl, "sandboxes", rows, columns, ARRAY_SIZE(columns));
    return 0;
}

/* --- status --- */

static void print_problems(const json_t *status)
{
    size_t i;
    json_t *sentence;
    const json_t *problems = json_object_get(status, "problems");
    json_array_foreach (problems, i, sentence)
        printf("%sWRONG: %s\n", i ? "" : "\n", json_string_value(sentence));
    if (!json_array_size(problems))
        puts("\nNo work is late; `sandlotctl doctor` checks more.");
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

/* --- the archive --- */

static long long number_of(const json_t *json, const char *name)
{
    return (long long)json_integer_value(json_object_get(json, name));
}

static void print_archive(const json_t *status)
{
    const json_t *archive = json_object_get(status, "archive");
    const char *newest = json_string_value(json_object_get(archive, "newest"));
    if (!json_is_object(archive)) {
        puts("archive: none");
        return;
    }
    printf("archive: %lld sandboxes (%lld only in the archive), %lld checkpoints, %lld MiB, the "
           "newest at %s; waiting: %lld; failing: %lld\n",
           number_of(archive, "sandboxes"), number_of(archive, "evicted"),
           number_of(archive, "checkpoints"), number_of(archive, "bytes") >> 20,
           newest ? newest : "(none)", number_of(archive, "behind"), number_of(archive, "failing"));
}

static void print_status(const json_t *status)
{
    static const struct ctl_column sandboxes[] = {{"STATE", "state"}, {"COUNT", "count"}};
    static const struct ctl_column hosts[] = {
        {"NAME", "name"},
        {"STATE", "state"},
        {"CONDITION", "condition"},
        {"SINCE", "since"},
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
    static const struct ctl_column moves[] = {
        {"KIND", "kind"}, {"STATE", "state"}, {"COUNT", "count"}, {"LAST ERROR", "last_error"}};
    static const struct ctl_column demands[] = {
        {"TEMPLATE", "template"},   {"CPU", "cpu"},
        {"MEMORY MB", "memory_mb"}, {"DISK GB", "disk_gb"},
        {"CREATES", "creates"},     {"WARM", "warm"},
        {"WAITING", "waiting"},     {"COLD BECAUSE", "why_cold"},
    };
    print_section(status, "sandboxes", sandboxes, ARRAY_SIZE(sandboxes));
    printf("past their deadline: %lld\n\n",
           (long long)json_integer_value(json_object_get(status, "past_deadline")));
    printf("events that a webhook has not got yet: %lld; dead letters: %lld\n",
           (long long)json_integer_value(
               json_object_get(json_object_get(status, "webhooks"), "behind")),
           (long long)json_integer_value(
               json_object_get(json_object_get(status, "webhooks"), "dead_letters")));
    printf("events that clients cannot read yet: %lld\n\n",
           (long long)json_integer_value(
               json_object_get(json_object_get(status, "events"), "waiting")));
    print_section(status, "hosts", hosts, ARRAY_SIZE(hosts));
    putchar('\n');
    print_section(status, "operations", operations, ARRAY_SIZE(operations));
    putchar('\n');
    print_section(status, "moves", moves, ARRAY_SIZE(moves));
    print_archive(status);
    puts("\nof the last 15 minutes:");
    print_section(status, "warm_pool", demands, ARRAY_SIZE(demands));
    print_problems(status);
}

/* Write the words for people in place of the API's values. */
static void name_states(json_t *rows)
{
    size_t i;
    json_t *row;
    json_array_foreach (rows, i, row) {
        const char *state = json_string_value(json_object_get(row, "state"));
        json_object_set_new(row, "state", json_string(state_word(state ? state : "")));
    }
}

int ctl_status(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    json_auto_t *status = NULL;
    (void)arguments;
    if (overview_read(ctl->db, ctl->settings, &status, err) < 0)
        return -1;
    if (ctl->json) {
        ctl_print_json(json_incref(status));
    } else {
        name_states(json_object_get(status, "sandboxes"));
        print_status(status);
    }
    return 0;
}
