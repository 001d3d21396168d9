/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a host runs versions that the tests ran with, can map user ids, and can run virtual
 * machines. */
#include <jansson.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/doctor.h"
#include "ctl/versions.h"
#include "host/host.h"
#include "incus/incus.h"
#include "template/template.h"

#define VERSION_SIZE 64

void doctor_judge_version(struct doctor *doctor, const char *where, enum component component,
                          const char *version)
{
    if (component_is_newer(component, version))
        doctor_note(doctor, "versions", "%s %s of %s is newer than %s, the newest tested version.",
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

/* Without such mounts, Incus changes the owners of all files at the first start of a sandbox. */
static void judge_users(struct doctor *doctor, const char *where, json_t *environment)
{
    json_t *features = json_object_get(environment, "kernel_features");
    if (str_equal(text_of(features, "idmapped_mounts"), "true"))
        doctor_ok(doctor, "users", "Incus of %s maps user ids in mounts.", where);
    else
        doctor_wrong(doctor, "users",
                     "Remove INCUS_IDMAPPED_MOUNTS_DISABLE from the environment of incusd, if it "
                     "is set, and restart incusd (`systemctl restart incus`).",
                     "Incus of %s does not map user ids in mounts: creates are slow, and sandboxes "
                     "cannot mount volumes.",
                     where);
}

/* Set slug to the first ready template of virtual machines; "": no template has them. */
static int find_machine_template(struct doctor *doctor, char slug[SLUG_MAX + 1], struct error **err)
{
    autofree struct template_version *versions = NULL;
    unsigned count;
    *slug = '\0';
    if (template_version_list(doctor->ctl->db, NULL, &versions, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count && !*slug; i++) {
        if (versions[i].virtual_machine && versions[i].state == TEMPLATE_READY)
            snprintf(slug, SLUG_MAX + 1, "%s", versions[i].slug);
    }
    return 0;
}

/* Incus names QEMU among its drivers if the host has KVM, QEMU and a firmware. */
static void judge_machines(struct doctor *doctor, const char *where, json_t *environment)
{
    error_auto err = NULL;
    char slug[SLUG_MAX + 1];
    if (strstr(text_of(environment, "driver"), "qemu")) {
        doctor_ok(doctor, "machines", "Incus of %s can run virtual machines.", where);
        return;
    }
    /* A machine that is only a host has no database to ask. */
    if (!doctor->ctl->db)
        doctor_ok(doctor, "machines", "Incus of %s runs containers only: it lacks KVM or QEMU.",
                  where);
    else if (find_machine_template(doctor, slug, &err) < 0)
        doctor_wrong(doctor, "machines", "See the line about the database.", "%s.", err->message);
    else if (*slug)
        doctor_wrong(
            doctor, "machines",
            "Enable virtualization of the machine, so that it has /dev/kvm, install QEMU and its "
            "firmware (packages qemu-system-x86 and ovmf), and restart Incus (`systemctl "
            "restart incus`).",
            "Incus of %s cannot run virtual machines, which the template %s needs.", where, slug);
    else
        doctor_ok(doctor, "machines",
                  "Incus of %s runs containers only: it lacks KVM or QEMU. No template needs them.",
                  where);
}

void doctor_check_versions(struct doctor *doctor, const struct host *host)
{
    error_auto ignored = NULL; /* the line about the host says why */
    json_auto_t *server = NULL;
    struct incus *incus;
    char version[VERSION_SIZE];
    if (ctl_open_incus(doctor->ctl, host, &incus, &ignored) < 0)
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
        judge_users(doctor, host->name, environment);
        judge_machines(doctor, host->name, environment);
    }
    incus_close(incus);
}
