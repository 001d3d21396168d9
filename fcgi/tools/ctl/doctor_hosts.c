/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/doctor.h"
#include "host/host.h"
#include "incus/incus.h"
#include "template/template.h"

/* Of its room, in percent, from which on a pool is nearly full, and full. */
#define POOL_NEARLY_FULL 90
#define POOL_FULL        98

/* A start is ended after a minute, and one from memory after a second more for each 16 MiB. */
#define START_LONG_MS (3 * 60 * 1000)

/* --- hosts --- */

/* Room in the pool; a host that does not say how much there is has its own ways of telling. */
static void check_room(struct doctor *doctor, const struct host *host, struct incus *incus)
{
    error_auto err = NULL;
    json_auto_t *resources = NULL;
    json_int_t used, total;
    autofree char *path = xasprintf("/1.0/storage-pools/%s/resources", host->pool);
    if (incus_get(incus, path, &resources, &err) < 0 ||
        json_unpack(resources, "{s:{s:I, s:I}}", "space", "used", &used, "total", &total) < 0 ||
        total <= 0)
        return;
    int percent = (int)(used * 100 / total);
    double used_gb = (double)used / (1 << 30), total_gb = (double)total / (1 << 30);
    if (percent < POOL_NEARLY_FULL)
        doctor_ok(doctor, "pool", "Storage pool %s of %s uses %.1f of %.1f GiB.", host->pool,
                  host->name, used_gb, total_gb);
    else
        doctor_wrong(doctor, "pool",
                     "Enlarge it (`incus storage set POOL size=…`), delete paused sandboxes and "
                     "checkpoints, or keep them for a shorter time (stopped_days, checkpoint_days "
                     "of `sandlotctl plan set`).",
                     "Storage pool %s of %s is %s: %.1f of %.1f GiB are used, and %s.", host->pool,
                     host->name, percent < POOL_FULL ? "nearly full" : "full", used_gb, total_gb,
                     host->storage.total_mb && host_pool_is_nearly_full(&host->storage)
                         ? "the host gets no new objects"
                         : "pauses cannot keep memory without room");
}

/* Compare the promised space with the storage pool. */
static void check_promise(struct doctor *doctor, const struct host *host)
{
    const struct host_pool *pool = &host->storage;
    uint64_t pool_gb = pool->total_mb >> 10, most_gb = pool_gb * host->disk_overcommit;
    if (!pool->total_mb)
        return;
    if (!host->disk_overcommit)
        doctor_note(doctor, "disk",
                    "%s reserves disks without a limit: %llu GiB now, with a storage pool of %llu "
                    "GiB. Set a limit with --disk-overcommit of `sandlotctl host add`.",
                    host->name, (unsigned long long)pool->promised_gb, (unsigned long long)pool_gb);
    else if (pool->promised_gb * 10 >= most_gb * 9)
        doctor_note(
            doctor, "disk",
            "The disks on %s have reserved %llu GiB of %llu GiB: soon it refuses new sandboxes and "
            "volumes. Enlarge its storage pool, or raise --disk-overcommit (now %u).",
            host->name, (unsigned long long)pool->promised_gb, (unsigned long long)most_gb,
            host->disk_overcommit);
    else
        doctor_ok(doctor, "disk", "The disks on %s have reserved %llu GiB of %llu GiB.", host->name,
                  (unsigned long long)pool->promised_gb, (unsigned long long)most_gb);
}

/* As the host's monitor has seen it. */
static void check_memory(struct doctor *doctor, const struct host *host)
{
    if (host->memory_low)
        doctor_wrong(
            doctor, "room",
            "Stop other programs on this host, delete or pause sandboxes, or let sandboxes reserve "
            "less memory (--memory-mb and --memory-overcommit of `sandlotctl host add`).",
            "%s has less than host_memory_kept_percent of its memory left, and gets no new "
            "sandboxes.",
            host->name);
    else
        doctor_ok(doctor, "room", "%s has memory for new sandboxes.", host->name);
}

/* Incus cannot mount a pool whose device is missing, and still has its records. */
static int check_mounted(const struct host *host, const json_t *pool, struct error **err)
{
    const char *status = json_string_value(json_object_get(pool, "status"));
    if (!status || str_equal(status, "Created"))
        return 0;
    return error_set(err, ERR_CONFIG,
                     "Incus cannot use the storage pool %s, whose status is %s; check that its "
                     "device exists and is unlocked (`incus storage show %s`)",
                     host->pool, status, host->pool);
}

void doctor_report_driver(struct doctor *doctor, const struct host *host, const char *driver)
{
    if (str_equal(driver, "dir"))
        doctor_note(doctor, "pool",
                    "Storage pool %s of %s has the driver dir: disks of sandboxes have no limit, "
                    "so one sandbox can fill the file system, and each create copies a whole disk. "
                    "On an installed host, use a pool with the driver btrfs.",
                    host->pool, host->name);
}

int doctor_check_pool(struct doctor *doctor, const struct host *host, struct error **err)
{
    struct incus *incus;
    json_auto_t *pool = NULL;
    if (ctl_open_incus(doctor->ctl, host, &incus, err) < 0)
        return -1;
    autofree char *path = xasprintf("/1.0/storage-pools/%s", host->pool);
    int result = incus_get(incus, path, &pool, err);
    if (result == 0 && (result = check_mounted(host, pool, err)) == 0) {
        check_room(doctor, host, incus);
        if (host->id) /* without a row, the pool may serve other instances than sandboxes */
            doctor_report_driver(doctor, host, json_string_value(json_object_get(pool, "driver")));
    }
    incus_close(incus);
    if (result < 0 && error_clear_if(err, ERR_NOT_FOUND))
        return error_set(err, ERR_CONFIG, "there is no storage pool %s", host->pool);
    return result;
}

static int64_t started_ms(const json_t *operation)
{
    const char *created = json_string_value(json_object_get(operation, "created_at"));
    int64_t at_ms;
    if (!str_equal(json_string_value(json_object_get(operation, "description")),
                   "Starting instance") ||
        !created || clock_parse_iso8601(created, &at_ms) < 0)
        return 0;
    return at_ms;
}

/* A start that nothing ends keeps its sandbox, and where incusd holds a lock for it, all others. */
static void check_starts(struct doctor *doctor, const struct host *host)
{
    error_auto err = NULL;
    struct incus *incus;
    json_auto_t *operations = NULL;
    const json_t *operation;
    size_t i, count = 0;
    int64_t oldest_ms = clock_now_ms();
    if (ctl_open_incus(doctor->ctl, host, &incus, &err) < 0)
        return;
    int result = incus_get(incus, "/1.0/operations?recursion=1", &operations, &err);
    incus_close(incus);
    if (result < 0)
        return;
    json_array_foreach (json_object_get(operations, "running"), i, operation) {
        int64_t at_ms = started_ms(operation);
        if (!at_ms || clock_now_ms() - at_ms < START_LONG_MS)
            continue;
        count++;
        oldest_ms = at_ms < oldest_ms ? at_ms : oldest_ms;
    }
    if (count)
        doctor_wrong(
            doctor, "starts",
            "If it does not restore gigabytes of memory, restart incusd there (`systemctl restart "
            "incus`). Running sandboxes keep running, and the starts are repeated.",
            "Incus on %s has been busy with %zu start%s for minutes, the first for %lld "
            "seconds.",
            host->name, count, count == 1 ? "" : "s",
            (long long)(clock_now_ms() - oldest_ms) / 1000);
    else
        doctor_ok(doctor, "starts", "No start on %s takes minutes.", host->name);
}

/* Incus answers to who we are, with the project and the pool that the host's row names. */
static int check_host(struct doctor *doctor, const struct host *host, size_t *instances,
                      struct error **err)
{
    struct runtime *runtime;
    struct runtime_listing *list = NULL;
    if (doctor_check_pool(doctor, host, err) < 0 ||
        runtimes_get(doctor->ctl->runtimes, doctor->ctl->db, host->id, &runtime, err) < 0 ||
        runtime->ops->list(runtime, &list, instances, err) < 0)
        return -1;
    runtime_listing_free(list, *instances);
    return 0;
}

/* Check the event stream of the host. Another check reports a missing dispatcher. */
static void check_events(struct doctor *doctor, const struct host *host)
{
    error_auto err = NULL;
    bool watched = false, heard = false;
    if (host_is_watched(doctor->ctl->db, &watched, &err) < 0 ||
        host_is_heard(doctor->ctl->db, host->id, &heard, &err) < 0)
        doctor_wrong(doctor, "events", "See the line about the database.", "%s.", err->message);
    else if (heard)
        doctor_ok(doctor, "events", "Incus on %s reports each sandbox that stops, at once.",
                  host->name);
    else if (watched)
        doctor_wrong(doctor, "events",
                     "The log of sandlot-dispatcher names the reason; the dispatcher tries again "
                     "every few seconds. A proxy between the two must pass WebSockets.",
                     "The event stream of %s is down: every second, the dispatcher lists all "
                     "instances there to find stopped ones.",
                     host->name);
}

static void report_host(struct doctor *doctor, const struct host *host)
{
    error_auto err = NULL;
    size_t instances = 0;
    if (check_host(doctor, host, &instances, &err) < 0)
        doctor_wrong(doctor, "host",
                     "Check that Incus runs there and that its address, certificate, project and "
                     "pool are right; `sandlotctl host add` with the same name changes and "
                     "prepares a host.",
                     "%s at %s: %s.", host->name, host->url, err->message);
    if (err)
        return;
    check_events(doctor, host);
    check_starts(doctor, host);
    if (host->sandboxes && host->used_memory_mb >= host->memory_mb)
        doctor_note(doctor, "host", "%s answers; all of its memory is reserved.", host->name);
    else
        doctor_ok(doctor, "host",
                  "%s answers, its storage pool %s exists, and it has %zu instance%s.", host->name,
                  host->pool, instances, instances == 1 ? "" : "s");
}

static void check_template(struct doctor *doctor)
{
    error_auto err = NULL;
    struct template_version version;
    const char *slug = doctor->ctl->settings->default_template;
    if (template_resolve(doctor->ctl->db, TEAM_DEPLOYMENT_ID, slug, "default_template", &version,
                         &err) < 0)
        doctor_wrong(doctor, "template",
                     "Build a version with `sandlotctl template add SLUG --image ALIAS`.",
                     "The default template %s: %s", slug, err->message);
    else
        doctor_ok(doctor, "template", "The default template %s is ready in version %u.", slug,
                  version.version);
}

/* A template that the setting names in place of an image. */
static void check_image_template(struct doctor *doctor, const char *setting, const char *reference)
{
    error_auto err = NULL;
    struct template_version version;
    if (template_resolve(doctor->ctl->db, TEAM_DEPLOYMENT_ID, reference, setting, &version, &err) <
        0)
        doctor_wrong(doctor, "template",
                     "Correct the setting, or build the template with `sandlotctl template add`.",
                     "The setting %s has the template %s: %s", setting, reference, err->message);
}

static void check_image_templates(struct doctor *doctor)
{
    const struct settings *settings = doctor->ctl->settings;
    autofree char *entries = xstrdup(settings->image_templates);
    char *next = NULL;
    for (char *one = strtok_r(entries, ", \t", &next); one; one = strtok_r(NULL, ", \t", &next))
        check_image_template(doctor, "image_templates", one + strcspn(one, "=") + 1);
    if (*settings->image_builder_template)
        check_image_template(doctor, "image_builder_template", settings->image_builder_template);
}

static void check_sources(struct doctor *doctor, const struct host *host)
{
    error_auto err = NULL;
    autofree struct template_version *missing = NULL;
    unsigned count;
    if (template_missing_sources(doctor->ctl->db, host->id, &missing, &count, &err) == 0 && count)
        doctor_note(
            doctor, "template",
            "Host %s has no source of template %s:%u%s; sandboxes of the template start on other "
            "hosts. Run `sandlotctl host activate %s`, which builds the missing sources.",
            host->name, missing[0].slug, missing[0].version, count > 1 ? " and others" : "",
            host->name);
}

struct hosts_check {
    struct doctor *doctor;
    unsigned active;
};

/* The condition that its monitor has recorded; further checks of this host would fail in the same
 * way. */
static bool report_condition(struct doctor *doctor, const struct host *host)
{
    int64_t since_ms;
    char since[CLOCK_ISO8601_SIZE];
    const char *condition = host_condition_name(&host->condition, &since_ms);
    if (!since_ms)
        return true;
    clock_format_iso8601(since_ms, since);
    if (host->condition.down_since_ms)
        doctor_wrong(doctor, "host",
                     "Repair the machine, its network or its relay; its sandboxes then work again. "
                     "If you cannot, give up the host with `sandlotctl host lost`.",
                     "%s is %s since %s: neither its Incus nor its relay answers, so clients "
                     "cannot reach its sandboxes.",
                     host->name, condition, since);
    else
        doctor_wrong(doctor, "host",
                     "Check Incus on that machine. Clients can still reach the running sandboxes.",
                     "%s is %s since %s: its Incus does not answer, so no sandbox can start, pause "
                     "or resume there.",
                     host->name, condition, since);
    return false;
}

static int examine(void *context, const struct host *host, struct error **err)
{
    struct hosts_check *check = context;
    struct doctor *doctor = check->doctor;
    (void)err;
    if (host->state == HOST_JOINING)
        return 0; /* doctor_check_joins() reports it */
    check->active += host->state == HOST_ACTIVE;
    if (!report_condition(doctor, host))
        return 0;
    doctor_check_relay(doctor, host);
    report_host(doctor, host);
    doctor_check_firewall(doctor, host);
    doctor_check_connections(doctor, host);
    check_sources(doctor, host);
    check_promise(doctor, host);
    check_memory(doctor, host);
    doctor_check_disk(doctor, host);
    doctor_check_criu(doctor, host);
    doctor_check_versions(doctor, host);
    doctor_check_kernel(doctor, host->url);
    doctor_check_filters(doctor, host->url);
    return 0;
}

void doctor_check_hosts(struct doctor *doctor)
{
    error_auto err = NULL;
    struct hosts_check check = {.doctor = doctor};
    if (hosts_each(doctor->ctl->db, examine, &check, NULL, &err) < 0) {
        doctor_wrong(doctor, "host", "See the line about the database.", "%s.", err->message);
        return;
    }
    if (!check.active)
        doctor_wrong(doctor, "host", "Add a host with `sandlotctl host add`.",
                     "No host accepts new sandboxes.");
    check_template(doctor);
    check_image_templates(doctor);
}
