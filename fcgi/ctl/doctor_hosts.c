/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ctl/ctl_db.h"
#include "ctl/doctor.h"
#include "incus/incus.h"
#include "sandbox/host.h"
#include "template/template.h"

/* The dispatcher looks several times a second; so long a delay means that none runs. */
#define LATE_MS 10000

/* --- hosts --- */

static int check_pool(struct doctor *doctor, const struct host *host, struct error **err)
{
    const struct settings *settings = doctor->ctl->settings;
    struct incus_options options = {
        .url = host->url,
        .project = host->project,
        .server_cert = host->server_cert,
        .client_cert_file = settings->incus_client_cert_file,
        .client_key_file = settings->incus_client_key_file,
    };
    struct incus *incus;
    json_auto_t *pool = NULL;
    if (incus_open(&options, &incus, err) < 0)
        return -1;
    autofree char *path = xasprintf("/1.0/storage-pools/%s", host->pool);
    int result = incus_get(incus, path, &pool, err);
    incus_close(incus);
    if (result < 0 && (*err)->code == ERR_NOT_FOUND) {
        error_clear(err);
        return error_set(err, ERR_CONFIG, "there is no storage pool %s", host->pool);
    }
    return result;
}

/* Incus answers to who we are, with the project and the pool that the host's row names. */
static int check_host(struct doctor *doctor, const struct host *host, size_t *instances,
                      struct error **err)
{
    struct runtime *runtime;
    struct runtime_listing *list = NULL;
    if (check_pool(doctor, host, err) < 0 ||
        runtimes_get(doctor->ctl->runtimes, doctor->ctl->db, host->id, &runtime, err) < 0 ||
        runtime->ops->list(runtime, &list, instances, err) < 0)
        return -1;
    runtime_listing_free(list, *instances);
    return 0;
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
    else if (host->sandboxes && host->used_memory_mb >= host->memory_mb)
        doctor_note(doctor, "host", "%s answers; all of its memory is reserved.", host->name);
    else
        doctor_ok(doctor, "host", "%s answers, its pool %s is there, and it holds %zu instance%s.",
                  host->name, host->pool, instances, instances == 1 ? "" : "s");
}

static void check_template(struct doctor *doctor)
{
    error_auto err = NULL;
    struct template_version version;
    const char *slug = doctor->ctl->settings->default_template;
    if (template_resolve(doctor->ctl->db, "", slug, "default_template", &version, &err) < 0)
        doctor_wrong(doctor, "template",
                     "`sandlotctl template add SLUG --image ALIAS` builds a version.",
                     "The default template %s: %s", slug, err->message);
    else
        doctor_ok(doctor, "template", "The default template %s is ready in version %u.", slug,
                  version.version);
}

static void check_sources(struct doctor *doctor, const struct host *host)
{
    error_auto err = NULL;
    autofree struct template_version *missing = NULL;
    unsigned count;
    if (template_missing_sources(doctor->ctl->db, host->id, &missing, &count, &err) == 0 && count)
        doctor_note(doctor, "template",
                    "Host %s has no source of %s:%u%s; sandboxes of it start on other hosts only. "
                    "`sandlotctl host add` with the same values builds what is missing.",
                    host->name, missing[0].slug, missing[0].version,
                    count > 1 ? " and others" : "");
}

void doctor_check_hosts(struct doctor *doctor)
{
    error_auto err = NULL;
    struct host *hosts = NULL;
    unsigned count, active = 0;
    if (host_list(doctor->ctl->db, &hosts, &count, &err) < 0) {
        doctor_wrong(doctor, "host", "See the line about the database.", "%s.", err->message);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        active += !strcmp(hosts[i].state, "active");
        report_host(doctor, &hosts[i]);
        check_sources(doctor, &hosts[i]);
    }
    hosts_free(hosts, count);
    if (!active)
        doctor_wrong(doctor, "host", "Add one with `sandlotctl host add`.",
                     "No host takes new sandboxes.");
    check_template(doctor);
}

/* --- work --- */

static void check_late(struct doctor *doctor)
{
    error_auto err = NULL;
    struct ctl_operation_count counts[CTL_KINDS_MAX];
    unsigned count;
    uint64_t due, overdue = 0;
    int64_t now_ms = clock_now_ms();
    if (ctl_db_count_due(doctor->ctl->db, now_ms - LATE_MS, &due, &err) < 0 ||
        ctl_db_count_operations(doctor->ctl->db, now_ms - LATE_MS, counts, &count, &err) < 0) {
        doctor_wrong(doctor, "dispatcher", "See the line about the database.", "%s.", err->message);
        return;
    }
    for (unsigned i = 0; i < count; i++)
        overdue += counts[i].overdue;
    if (due || overdue)
        doctor_wrong(doctor, "dispatcher",
                     "Check that sandlot-dispatcher runs, and what its log says.",
                     "%llu sandboxes are past their deadline and %llu operations have lost their "
                     "worker for more than %d seconds.",
                     (unsigned long long)due, (unsigned long long)overdue, LATE_MS / 1000);
    else
        doctor_ok(doctor, "dispatcher", "Nothing waits for it longer than it should.");
}

/* Whether memory survives a pause shows only when one is made; say what the last ones showed. */
static void check_pause(struct doctor *doctor)
{
    error_auto err = NULL;
    struct ctl_outcome pause, resume;
    char at[CLOCK_ISO8601_SIZE];
    if (ctl_db_latest_outcome(doctor->ctl->db, "pause", &pause, &err) < 0 ||
        ctl_db_latest_outcome(doctor->ctl->db, "resume", &resume, &err) < 0) {
        doctor_wrong(doctor, "pause", "See the line about the database.", "%s.", err->message);
        return;
    }
    if (pause.found && !pause.done)
        doctor_note(doctor, "pause", "The last pause failed, at %s: %s.",
                    clock_format_iso8601(pause.at_ms, at), pause.last_error);
    if (!resume.found)
        doctor_note(doctor, "pause",
                    "No sandbox has been resumed yet, so it is not known whether memory is kept.");
    else if (!resume.done)
        doctor_note(doctor, "pause", "The last resume failed, at %s: %s.",
                    clock_format_iso8601(resume.at_ms, at), resume.last_error);
    else if (!strcmp(resume.resumed_from, "memory"))
        doctor_ok(doctor, "pause", "Memory is kept: the last resume, at %s, continued from it.",
                  clock_format_iso8601(resume.at_ms, at));
    else
        doctor_note(doctor, "pause",
                    "The last resume, at %s, started from the disk; the log of the workers says "
                    "why. Containers need a CRIU that fits the kernel.",
                    clock_format_iso8601(resume.at_ms, at));
}

void doctor_check_work(struct doctor *doctor)
{
    check_late(doctor);
    check_pause(doctor);
}
