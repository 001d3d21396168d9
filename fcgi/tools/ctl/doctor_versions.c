/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a host runs versions that the tests ran with. */
#include <jansson.h>

#include "base/str.h"
#include "ctl/doctor.h"
#include "ctl/versions.h"
#include "host/host.h"
#include "incus/incus.h"

#define VERSION_SIZE 64

void doctor_judge_version(struct doctor *doctor, const char *where, enum component component,
                          const char *version)
{
    if (component_is_newer(component, version))
        doctor_note(doctor, "versions",
                    "%s %s of %s is newer than %s, the newest version that the tests ran with.",
                    component_name(component), version, where, component_tested(component));
    else
        doctor_ok(doctor, "versions", "%s %s of %s is a tested version.", component_name(component),
                  version, where);
}

static const char *text_of(json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static void judge_btrfs(struct doctor *doctor, const char *where, json_t *environment)
{
    json_t *driver;
    size_t i;
    json_array_foreach (json_object_get(environment, "storage_supported_drivers"), i, driver) {
        if (str_equal(text_of(driver, "Name"), "btrfs"))
            doctor_judge_version(doctor, where, COMPONENT_BTRFS, text_of(driver, "Version"));
    }
}

void doctor_check_versions(struct doctor *doctor, const struct host *host)
{
    error_auto ignored = NULL; /* the line about the host says why */
    json_auto_t *server = NULL;
    struct incus *incus;
    char version[VERSION_SIZE];
    if (doctor_open_incus(doctor, host, &incus, &ignored) < 0)
        return;
    if (incus_get(incus, "/1.0", &server, &ignored) == 0) {
        json_t *environment = json_object_get(server, "environment");
        doctor_judge_version(doctor, host->name, COMPONENT_INCUS,
                             text_of(environment, "server_version"));
        if (component_version_in(text_of(environment, "driver"),
                                 text_of(environment, "driver_version"), "lxc", version,
                                 sizeof version))
            doctor_judge_version(doctor, host->name, COMPONENT_LIBLXC, version);
        judge_btrfs(doctor, host->name, environment);
    }
    incus_close(incus);
}
