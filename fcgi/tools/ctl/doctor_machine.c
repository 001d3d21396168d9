/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine that is a host and no front node. It has no database and no key ring, so these checks
 * ask the programs of the machine itself.
 */
#include <stdlib.h>
#include <sys/utsname.h>

#include "base/mem.h"
#include "ctl/doctor.h"
#include "ctl/fastcgi_probe.h"
#include "host/host.h"
#include "incus/incus.h"

#define INCUS_SOCKET "/var/lib/incus/unix.socket"
#define PROBE_MS     3000

static const char start[] = "Start it with systemctl, and read its log (journalctl -u).";

static void check_firewall(struct doctor *doctor)
{
    error_auto err = NULL;
    const char *path = doctor->ctl->settings->firewall_socket;
    if (fastcgi_probe(path, PROBE_MS, &err) == 0)
        doctor_ok(doctor, "workers", "sandlot-firewall answers at %s.", path);
    else
        doctor_wrong(doctor, "workers", start, "sandlot-firewall: %s.", err->message);
}

/* sandlot-limits ends a connection that asks nothing. */
static void check_limits(struct doctor *doctor)
{
    const char *path = doctor->ctl->settings->limits_socket;
    error_auto err = NULL;
    if (socket_probe(path, &err) == 0)
        doctor_ok(doctor, "workers", "sandlot-limits accepts connections at %s.", path);
    else
        doctor_wrong(doctor, "workers", start, "sandlot-limits: %s.", err->message);
}

/* Fronts name the storage pools in the database; here, all pools of Incus are checked. */
static void check_pools(struct doctor *doctor, struct host *host, struct incus *incus)
{
    error_auto err = NULL;
    json_auto_t *pools = NULL;
    const json_t *pool;
    size_t i;
    int result = incus_get(incus, "/1.0/storage-pools?recursion=1", &pools, &err);
    json_array_foreach (pools, i, pool) {
        const char *name = json_string_value(json_object_get(pool, "name"));
        snprintf(host->pool, sizeof host->pool, "%s", name ? name : "");
        if (result == 0 && (result = doctor_check_pool(doctor, host, &err)) == 0)
            doctor_check_disk(doctor, host);
    }
    if (result < 0)
        doctor_wrong(doctor, "pool", "`incus storage list` shows the storage pools.", "%s.",
                     err->message);
}

static void check_incus(struct doctor *doctor)
{
    error_auto err = NULL;
    struct incus *incus = NULL;
    struct utsname machine;
    const char *socket = getenv("INCUS_SOCKET");
    autofree char *url = xasprintf("unix://%s", socket ? socket : INCUS_SOCKET);
    struct host host = {.url = url, .project = "default"};
    json_auto_t *server = NULL;
    uname(&machine);
    snprintf(host.name, sizeof host.name, "%.60s", machine.nodename);
    if (ctl_open_incus(doctor->ctl, &host, &incus, &err) < 0 ||
        incus_get(incus, "/1.0", &server, &err) < 0) {
        doctor_wrong(doctor, "incus", "Start it: `systemctl restart incus`.",
                     "Incus of this machine: %s.", err->message);
    } else {
        doctor_ok(doctor, "incus", "Incus of this machine answers.");
        check_pools(doctor, &host, incus);
        doctor_check_criu(doctor, &host);
        doctor_check_versions(doctor, &host);
    }
    incus_close(incus);
    doctor_check_kernel(doctor, host.url);
    doctor_check_filters(doctor, host.url);
}

void doctor_check_machine(struct doctor *doctor)
{
    check_incus(doctor);
    check_firewall(doctor);
    check_limits(doctor);
    doctor_check_relay_files(doctor);
    doctor_note(
        doctor, "database",
        "This machine is a host, and not a front node. sandlotctl left out these checks, which "
        "need the database: host, templates, fronts, key ring, background work, archive, workers "
        "and certificate of the API. Run `sandlotctl doctor` on a front node for them.");
}
