/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/mem.h"
#include "config/database.h"
#include "ctl/doctor.h"
#include "ctl/output.h"
#include "db/migrate.h"

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
    if (doctor->ctl->json)
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
    add(doctor, check, "WRONG", message, advice);
}

/* --- the control plane itself --- */

static bool check_settings(struct doctor *doctor)
{
    error_auto err = NULL;
    struct ctl *ctl = doctor->ctl;
    if (settings_load(ctl->config_path, &ctl->settings, &err) < 0) {
        doctor_wrong(doctor, "settings",
                     "Mend the file, or name another with --config; `sandlotctl config sample` "
                     "prints one with every setting.",
                     "%s.", err->message);
        return false;
    }
    doctor_ok(doctor, "settings", "%s is read and checked.", ctl->config_path);
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
                     "`sandlotctl keyring new FILE` makes one; only the user and the group of the "
                     "workers may read it. If there is a backup, restore that: a new key cannot "
                     "open what the old one sealed.",
                     "%s.", err->message);
        return;
    }
    if (stat(path, &status) == 0 && (status.st_mode & S_IWGRP))
        doctor_wrong(doctor, "key file", "Run: chmod g-w on it.", "%s can be written by its group.",
                     path);
    else
        doctor_ok(doctor, "key file",
                  "%s is readable for nobody but its owner and group; new data "
                  "uses key %u.",
                  path, keyring_newest(ring));
    keyring_free(ring);
}

static bool check_database(struct doctor *doctor)
{
    error_auto err = NULL;
    struct ctl *ctl = doctor->ctl;
    if (database_open(ctl->settings, &ctl->db, &err) < 0) {
        doctor_wrong(doctor, "database",
                     "Check that the server runs and that the settings database_* name it, its "
                     "user and its password file.",
                     "%s.", err->message);
        return false;
    }
    if (db_schema_require(ctl->db, &err) < 0) {
        doctor_wrong(doctor, "database", "`sandlotctl migrate` brings the schema up to date.",
                     "%s.", err->message);
        return false;
    }
    doctor_ok(doctor, "database", "It answers and its schema is at version %d.", DB_SCHEMA_VERSION);
    return true;
}

int ctl_doctor(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct doctor doctor = {.ctl = ctl, .findings = json_array()};
    (void)arguments;
    log_configure(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
    if (check_settings(&doctor)) {
        check_key_file(&doctor);
        if (check_database(&doctor)) {
            ctl->runtimes = runtimes_new(ctl->settings);
            doctor_check_hosts(&doctor);
            doctor_check_registries(&doctor);
            doctor_check_work(&doctor);
        }
        doctor_check_sockets(&doctor);
        doctor_check_certificate(&doctor);
    }
    if (ctl->json)
        ctl_print_json(json_pack("{s:b, s:i, s:O}", "ok", doctor.wrong == 0, "wrong",
                                 (int)doctor.wrong, "findings", doctor.findings));
    json_decref(doctor.findings);
    if (doctor.wrong)
        return error_set(err, ERR_CONFIG, "%u thing%s wrong", doctor.wrong,
                         doctor.wrong == 1 ? " is" : "s are");
    return 0;
}
