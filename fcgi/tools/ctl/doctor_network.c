/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Check the connection table, which all sandboxes of this machine share. A full one refuses
 * connections to everybody, nginx among them; conf/nftables/load-network.in sets its size. Also
 * check the entries of allow_package_registry_access.
 */
#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/doctor.h"
#include "host/host.h"
#include "network/egress_profile.h"

#define TABLE_FULL_PERCENT 75
#define COUNT_FILE         "/proc/sys/net/netfilter/nf_conntrack_count"
#define MAX_FILE           "/proc/sys/net/netfilter/nf_conntrack_max"

/* Read the number in a file of the kernel. Returns 0, or -1 on failure. */
static int read_number(const char *path, unsigned long *number)
{
    autofclose FILE *file = fopen(path, "re");
    return file && fscanf(file, "%lu", number) == 1 ? 0 : -1;
}

void doctor_check_connections(struct doctor *doctor, const struct host *host)
{
    unsigned long count, max;
    if (!str_starts_with(host->url, "unix://"))
        return; /* another machine's table */
    if (read_number(COUNT_FILE, &count) < 0 || read_number(MAX_FILE, &max) < 0 || !max)
        doctor_note(doctor, "connections", "Cannot read the size of the connection table (%s).",
                    COUNT_FILE);
    else if (count * 100 / max >= TABLE_FULL_PERCENT)
        doctor_wrong(doctor, "connections",
                     "Find the owners of the connections with `conntrack -L`. load-network sets "
                     "the table's size by the machine's memory; set a larger one with `sysctl "
                     "net.netfilter.nf_conntrack_max`.",
                     "The connection table of %s has %lu of %lu entries; a full table refuses all "
                     "new connections.",
                     host->name, count, max);
    else
        doctor_ok(doctor, "connections", "The connection table of %s has %lu of %lu entries.",
                  host->name, count, max);
}

void doctor_check_registries(struct doctor *doctor)
{
    error_auto err = NULL;
    struct egress_profile profile;
    if (egress_profile_get(doctor->ctl->db, EGRESS_PROFILE_REGISTRIES, &profile, &err) < 0) {
        doctor_wrong(doctor, "registries", "See the line about the database.", "%s.", err->message);
        return;
    }
    size_t count = json_array_size(profile.entries);
    if (count)
        doctor_ok(doctor, "registries", "allow_package_registry_access allows %zu entr%s.", count,
                  count == 1 ? "y" : "ies");
    else
        doctor_note(
            doctor, "registries",
            "The profile " EGRESS_PROFILE_REGISTRIES
            " is empty, so allow_package_registry_access has no effect. Fill it with "
            "`sandlot-package-registries | sandlotctl profile set " EGRESS_PROFILE_REGISTRIES
            " --file -`.");
    egress_profile_deinit(&profile);
}
