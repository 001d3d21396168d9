/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "config/database.h"
#include "ctl/ctl_db.h"
#include "ctl/doctor.h"
#include "ctl/output.h"
#include "ctl/relay_files.h"
#include "db/migrate.h"
#include "overview/overview.h"

#define STATE_WRONG "WRONG"

/* --- findings --- */

/* The messages of errors are sentences or not; ours end with one full stop. */
static void end_sentence(char *message)
{
    size_t length = strlen(message);
    if (length > 1 && message[length - 1] == '.' && message[length - 2] == '.')
        message[length - 1] = '\0';
}

static void add(struct doctor *doctor, const char *check, const char *state, char *message,
                const char *advice)
{
    end_sentence(message);
    json_t *finding =
        json_pack("{s:s, s:s, s:s}", "check", check, "state", state, "message", message);
    if (advice)
        json_object_set_new(finding, "advice", json_string(advice));
    json_array_append_new(doctor->findings, finding);
    if (doctor->ctl->json || doctor->is_quiet)
        return;
    printf("%-5s  %-12s %s\n", state, check, message);
    if (advice)
        printf("%-5s  %-12s %s\n", "", "", advice);
    fflush(stdout);
}

void doctor_ok(struct doctor *doctor, const char *check, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    autofree char *message = xvasprintf(format, ap);
    va_end(ap);
    add(doctor, check, "ok", message, NULL);
}

void doctor_note(struct doctor *doctor, const char *check, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    autofree char *message = xvasprintf(format, ap);
    va_end(ap);
    add(doctor, check, "note", message, NULL);
}

void doctor_wrong(struct doctor *doctor, const char *check, const char *advice, const char *format,
                  ...)
{
    va_list ap;
    va_start(ap, format);
    autofree char *message = xvasprintf(format, ap);
    va_end(ap);
    doctor->wrong++;
    add(doctor, check, STATE_WRONG, message, advice);
}

/* --- the control plane itself --- */

static bool check_settings(struct doctor *doctor)
{
    error_auto err = NULL;
    struct ctl *ctl = doctor->ctl;
    if (settings_load(ctl->config_path, &ctl->settings, &err) < 0) {
        doctor_wrong(doctor, "settings",
                     "Correct the file, or give another with --config. `sandlotctl config sample` "
                     "prints one with every setting.",
                     "%s.", err->message);
        return false;
    }
    doctor_ok(doctor, "settings", "%s is correct.", ctl->config_path);
    return true;
}

static void check_key_file(struct doctor *doctor)
{
    error_auto err = NULL;
    struct stat status;
    struct keyring *ring = NULL;
    const char *path = doctor->ctl->settings->key_file;
    if (keyring_load(path, &ring, &err) < 0) {
        doctor_wrong(doctor, "key file",
                     "If you have a backup, restore the file: a new key cannot decrypt the "
                     "existing data. Otherwise create a file with `sandlotctl keyring new FILE`. "
                     "Only the user and the group of the workers may read it.",
                     "%s.", err->message);
        return;
    }
    if (stat(path, &status) == 0 && (status.st_mode & S_IWGRP))
        doctor_wrong(doctor, "key file", "Run `chmod g-w` on the file.",
                     "The group of %s can write to it.", path);
    else
        doctor_ok(doctor, "key file",
                  "Only the owner and the group of %s can read it; new data uses key %u.", path,
                  keyring_newest(ring));
    keyring_free(ring);
}

/* Nothing is removed: the server checks the right first. */
static void check_audit(struct doctor *doctor)
{
    if (ctl_db_may_change_audit(doctor->ctl->db))
        doctor_note(doctor, "audit log",
                    "The programs' database user can change and delete rows of the audit log. Set "
                    "database_admin_user; then `sandlotctl migrate` removes this right.");
    else
        doctor_ok(doctor, "audit log",
                  "The programs' database user can add rows, but cannot change or delete them.");
}

static bool check_database(struct doctor *doctor)
{
    error_auto err = NULL;
    struct ctl *ctl = doctor->ctl;
    if (database_open(ctl->settings, &ctl->db, &err) < 0) {
        doctor_wrong(doctor, "database",
                     "Check that the server runs, and that the settings database_* have its "
                     "address, user and password file.",
                     "%s.", err->message);
        return false;
    }
    if (db_schema_require(ctl->db, &err) < 0) {
        doctor_wrong(doctor, "database", "Run `sandlotctl migrate`, which updates the schema.",
                     "%s.", err->message);
        return false;
    }
    doctor_ok(doctor, "database", "The database answers, and its schema has version %u.",
              db_schema_needed);
    doctor_check_database_server(doctor);
    doctor_check_database_clock(doctor);
    check_audit(doctor);
    return true;
}

static json_t *report_of(const struct doctor *doctor)
{
    return json_pack("{s:b, s:i, s:O}", "ok", doctor->wrong == 0, "wrong", (int)doctor->wrong,
                     "findings", doctor->findings);
}

/* For operators, who see it by the API. */
static void leave_report(struct doctor *doctor)
{
    error_auto err = NULL;
    json_auto_t *report = report_of(doctor);
    if (overview_report_put(doctor->ctl->db, REPORT_DOCTOR, clock_now_ms(), report, &err) < 0)
        doctor_wrong(doctor, "report", "See the line about the database.",
                     "Cannot store the findings in the database: %s.", err->message);
}

static void examine(struct doctor *doctor)
{
    log_configure(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
    if (!check_settings(doctor))
        return;
    if (relay_is_host_only(doctor->ctl->settings)) {
        doctor_check_machine(doctor);
        doctor_check_holes(doctor);
        return;
    }
    check_key_file(doctor);
    bool has_database = check_database(doctor);
    if (has_database) {
        doctor->ctl->runtimes = runtimes_new(doctor->ctl->settings);
        runtimes_regardless(doctor->ctl->runtimes);
        doctor_check_hosts(doctor);
        doctor_check_joins(doctor);
        doctor_check_fronts(doctor);
        doctor_check_registries(doctor);
        doctor_check_work(doctor);
        doctor_check_archive(doctor);
    }
    doctor_check_sockets(doctor);
    doctor_check_certificate(doctor);
    doctor_check_front(doctor);
    doctor_check_holes(doctor);
    if (has_database)
        leave_report(doctor);
}

/* --- one line for a monitor (https://www.monitoring-plugins.org/doc/guidelines.html) --- */

enum { PLUGIN_OK = 0, PLUGIN_CRITICAL = 2 };

/* A bar begins the performance data. */
static void print_finding(const json_t *finding)
{
    const char *check = json_string_value(json_object_get(finding, "check"));
    const char *message = json_string_value(json_object_get(finding, "message"));
    printf("%s: ", check);
    for (; *message; message++)
        putchar(*message == '|' || *message == '\n' ? ' ' : *message);
    putchar(' ');
}

int ctl_check(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct doctor doctor = {.ctl = ctl, .findings = json_array(), .is_quiet = true};
    int64_t started_ms = clock_monotonic_ms();
    size_t index;
    json_t *finding;
    (void)arguments;
    if (ctl->json) {
        json_decref(doctor.findings);
        return error_set(err, ERR_INVALID_REQUEST,
                         "check prints one line for a monitor; `sandlotctl --json doctor` prints "
                         "the findings as JSON");
    }
    examine(&doctor);
    printf("SANDLOT %s - ", doctor.wrong ? "CRITICAL" : "OK");
    json_array_foreach (doctor.findings, index, finding)
        if (str_equal(json_string_value(json_object_get(finding, "state")), STATE_WRONG))
            print_finding(finding);
    if (!doctor.wrong)
        printf("%zu checks are ok ", json_array_size(doctor.findings));
    printf("| wrong=%u;;0 looked_at=%zu time=%.3fs\n", doctor.wrong,
           json_array_size(doctor.findings), (double)(clock_monotonic_ms() - started_ms) / 1000);
    json_decref(doctor.findings);
    ctl->exit_status = doctor.wrong ? PLUGIN_CRITICAL : PLUGIN_OK;
    return 0;
}

int ctl_doctor(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct doctor doctor = {.ctl = ctl, .findings = json_array()};
    (void)arguments;
    examine(&doctor);
    if (ctl->json)
        ctl_print_json(report_of(&doctor));
    json_decref(doctor.findings);
    if (doctor.wrong)
        return error_set(err, ERR_CONFIG, "%u check%s a fault", doctor.wrong,
                         doctor.wrong == 1 ? " found" : "s found");
    return 0;
}
