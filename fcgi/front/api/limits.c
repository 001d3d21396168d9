/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "account/access_revision.h"
#include "api/api.h"
#include "api/plan_view.h"
#include "base/guest_limits.h"
#include "base/json_text.h"
#include "base/mem.h"
#include "base/str.h"
#include "template/template.h"

/* All plans as text. They are valid while the access revision (account/access_revision.h) and the
 * largest host stay the same. */
static struct {
    uint64_t revision; /* 0: not filled */
    struct host_largest largest;
    struct plan plans[PLANS_MAX];
    char *texts[PLANS_MAX], *prices[PLANS_MAX], *cpus[PLANS_MAX];
    unsigned count;
} known;

static void forget(void)
{
    for (unsigned i = 0; i < known.count; i++) {
        free(known.texts[i]);
        free(known.prices[i]);
        free(known.cpus[i]);
    }
    known.count = 0;
    known.revision = 0;
}

static char *to_text(json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    return text;
}

static int learn(struct db *db, uint64_t revision, const struct host_largest *largest,
                 struct error **err)
{
    struct plan plans[PLANS_MAX];
    unsigned count;
    if (plan_list(db, plans, &count, err) < 0)
        return -1;
    forget();
    for (unsigned i = 0; i < count; i++) {
        known.plans[i] = plans[i];
        known.texts[i] = to_text(plan_to_json(&plans[i], largest));
        known.prices[i] = to_text(plan_prices_to_json(&plans[i]));
        known.cpus[i] = to_text(plan_cpus_to_json(&plans[i], largest));
    }
    known.largest = *largest;
    known.count = count;
    known.revision = revision;
    return 0;
}

/* Return the index of a plan; known.count if it does not exist. */
static unsigned place_of(const char *name)
{
    unsigned place = 0;
    while (place < known.count && !str_equal(known.plans[place].name, name))
        place++;
    return place;
}

/* Find the index of a plan, and read the plans again when they have changed. The revision was read
 * earlier in this request. */
static int find_plan(struct db *db, const struct principal *principal, const char *name,
                     unsigned *place, struct error **err)
{
    struct host_largest largest;
    if (host_largest(db, &largest, err) < 0)
        return -1;
    bool holds = known.revision && known.revision == principal->revision &&
                 !memcmp(&known.largest, &largest, sizeof largest);
    if ((!holds || place_of(name) == known.count) &&
        learn(db, principal->revision, &largest, err) < 0)
        return -1;
    *place = place_of(name);
    if (*place < known.count)
        return 0;
    return error_set(err, ERR_INTERNAL, "the team has the plan %s, which does not exist", name);
}

int limits_look(void *context, const struct http_request *request, uint64_t *revision,
                struct error **err)
{
    struct api *api = context;
    struct ahead *ahead = &api->ahead;
    const struct team *team = principal_default_team(&api->principal);
    if (!team || http_parameter(request, "QUERY_STRING"))
        return access_revision_get(api->worker.db, revision, err);
    error_auto failure = NULL;
    if (quota_look(api->worker.db, team->id, api->settings->default_template, &ahead->quota,
                   &failure) < 0)
        return failure->code == ERR_NOT_FOUND ? access_revision_get(api->worker.db, revision, err)
                                              : error_move(err, &failure);
    *revision = ahead->quota.revision;
    memcpy(ahead->team_id, team->id, sizeof ahead->team_id);
    ahead->what = AHEAD_QUOTA;
    return 0;
}

static int look_at_quota(struct api *api, const char *team_id, struct quota_seen *seen,
                         struct error **err)
{
    const struct ahead *ahead = &api->ahead;
    if (ahead->what != AHEAD_QUOTA || !str_equal(ahead->team_id, team_id))
        return quota_look(api->worker.db, team_id, api->settings->default_template, seen, err);
    *seen = ahead->quota;
    return 0;
}

/* Find the size of a create without template and size. This is the baseline of the deployment's
 * default template, or the plan's defaults if the template has no runnable version. */
static int read_quota(struct api *api, const struct team *team, const struct plan *plan,
                      struct quota *quota, uint64_t *paused_mb, struct error **err)
{
    struct quota_seen seen;
    struct template_version version;
    error_auto missing = NULL;
    const char *template = api->settings->default_template;
    struct runtime_resources size = {plan->cpu_default, plan->memory_mb_default, plan->disk_gb};
    if (look_at_quota(api, team->id, &seen, err) < 0)
        return -1;
    if (seen.cpu)
        size = (struct runtime_resources){seen.cpu, seen.memory_mb, plan->disk_gb};
    quota->usage = seen.usage;
    *paused_mb = seen.paused_mb;
    if (!slug_is_valid(template)) {
        if (template_resolve(api->worker.db, team->id, template, "/template", &version, &missing) ==
            0)
            size = (struct runtime_resources){version.cpu, version.memory_mb, plan->disk_gb};
        else if (missing->code != ERR_TEMPLATE_NOT_FOUND)
            return error_move(err, &missing);
    }
    quota->limits = (struct quota_amount){plan->sandboxes, plan->vcpus, plan->memory_mb};
    quota->reservation = (struct quota_amount){1, size.cpu, size.memory_mb};
    return 0;
}

static void write_quota(const struct quota *quota, struct buffer *out)
{
    const struct quota_amount *amounts[] = {&quota->limits, &quota->usage, &quota->reservation};
    static const char *const names[] = {"limits", "usage", "reservation"};
    json_text_name(out, "quota");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (!i)
            buffer_append_char(out, '{');
        json_text_name(out, names[i]);
        buffer_append_char(out, '{');
        json_text_number(out, "sandboxes", amounts[i]->sandboxes);
        json_text_number(out, "vcpus", amounts[i]->vcpus);
        json_text_number(out, "memory_mb", amounts[i]->memory_mb);
        buffer_append_char(out, '}');
    }
    buffer_append_char(out, '}');
}

/* Write the memory of paused sandboxes and checkpoints. A create does not use it. */
static void write_paused_memory(const struct plan *plan, uint64_t used_mb, struct buffer *out)
{
    json_text_name(out, "paused_memory");
    buffer_append_char(out, '{');
    json_text_number(out, "limit_mb", (uint64_t)plan->paused_memory_gb * 1024);
    json_text_number(out, "used_mb", used_mb);
    buffer_append_char(out, '}');
}

/* Write the public plans; operators get all plans. */
static void write_plans(unsigned place, bool all, struct buffer *out)
{
    json_text_object(out, "plan", known.texts[place]);
    json_text_name(out, "plans");
    buffer_append_char(out, '[');
    for (unsigned i = 0; i < known.count; i++)
        if (all || known.plans[i].is_public)
            json_text_object(out, "", known.texts[i]);
    buffer_append_char(out, ']');
    json_text_name(out, "cpu_values");
    buffer_append_string(out, known.cpus[place]);
}

static void write_bounds(struct buffer *out)
{
    static const struct {
        const char *name;
        unsigned bound;
    } bounds[] = {
        {"processes", GUEST_PROCESSES_MAX},
        {"open_files", GUEST_OPEN_FILES_MAX},
        {"argument_bytes", GUEST_ARGUMENT_BYTES_MAX},
        {"command_bytes", GUEST_REQUEST_BYTES_MAX},
        {"environment_bytes", GUEST_ENVIRONMENT_BYTES_MAX},
        {"output_bytes", GUEST_OUTPUT_BYTES_MAX},
        {"listed_files", GUEST_LISTED_MAX},
    };
    json_text_name(out, "per_sandbox");
    buffer_append_char(out, '{');
    for (size_t i = 0; i < ARRAY_SIZE(bounds); i++)
        json_text_number(out, bounds[i].name, bounds[i].bound);
    buffer_append_char(out, '}');
}

int limits_show(void *context, struct http_request *request, struct http_response *response,
                struct error **err)
{
    struct api *api = context;
    const struct team *team = api->access.team;
    struct buffer *out = &response->body;
    struct quota quota;
    unsigned place;
    uint64_t paused_mb;
    (void)request;
    if (find_plan(api->worker.db, &api->principal, team->plan, &place, err) < 0 ||
        read_quota(api, team, &known.plans[place], &quota, &paused_mb, err) < 0)
        return -1;
    const struct plan *plan = &known.plans[place];
    buffer_append_char(out, '{');
    json_text_string(out, "team", team->slug);
    json_text_number(out, "cpu", plan->cpu_default);
    json_text_number(out, "memory_mb", plan->memory_mb_default);
    write_plans(place, principal_is_operator(&api->principal), out);
    json_text_number(out, "memory_mb_min", plan->memory_mb_min);
    json_text_number(out, "memory_mb_max", plan_memory_most(plan, &known.largest));
    json_text_number(out, "memory_mb_increment", plan->memory_mb_increment);
    json_text_number(out, "disk_gb", plan->disk_gb);
    json_text_number(out, "max_timeout", plan->max_timeout_s);
    write_bounds(out);
    json_text_string(out, "network_class", api->settings->default_network_class);
    json_text_string_or_null(out, "image_registry_default", api->settings->image_registry_default);
    json_text_object(out, "prices", known.prices[place]);
    write_quota(&quota, out);
    write_paused_memory(plan, paused_mb, out);
    buffer_append_char(out, '}');
    return 0;
}
