/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Check the connection table, which all sandboxes of this machine share. A full one refuses
 * connections to everybody, nginx among them; conf/nftables/load-network.in sets its size. Also
 * check the entries of allow_package_registry_access, and look for packet filters of the machine's
 * own.
 */
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/doctor.h"
#include "host/host.h"
#include "network/egress_profile.h"

#define TABLE_FULL_PERCENT 75
#define COUNT_FILE         "/proc/sys/net/netfilter/nf_conntrack_count"
#define CHAINS_MAX         ((size_t)1 << 20)
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

static const char *text_of(const json_t *chain, const char *name)
{
    const char *text = json_string_value(json_object_get(chain, name));
    return text ? text : "";
}

/* firewalld's chains accept by their policy, and end with a rule that rejects. */
static bool may_drop(const json_t *chain)
{
    const char *family = text_of(chain, "family"), *hook = text_of(chain, "hook");
    const char *table = text_of(chain, "table");
    return (str_equal(family, "ip") || str_equal(family, "inet")) &&
           (str_equal(hook, "forward") || str_equal(hook, "input")) &&
           (str_equal(text_of(chain, "policy"), "drop") || str_equal(table, "firewalld")) &&
           !str_starts_with(table, "sandlot");
}

void doctor_report_filters(struct doctor *doctor, const json_t *listed)
{
    const json_t *one;
    size_t i;
    json_array_foreach (json_object_get(listed, "nftables"), i, one) {
        const json_t *chain = json_object_get(one, "chain");
        if (may_drop(chain))
            doctor_note(doctor, "filter",
                        "The chain %s of your table %s drops packets for which it has no rule. If "
                        "sandboxes have no names or no internet, let their packets pass: see \"A "
                        "firewall of your own\" in doc/howto/install-by-hand.md.",
                        text_of(chain, "name"), text_of(chain, "table"));
    }
}

void doctor_check_filters(struct doctor *doctor, const char *host_url)
{
    char *const arguments[] = {(char *)"/usr/sbin/nft", (char *)"-j", (char *)"list",
                               (char *)"chains", NULL};
    if (!str_starts_with(host_url, "unix://"))
        return;
    autofree char *text = xcalloc(1, CHAINS_MAX);
    /* Only root may list them. */
    if (doctor_run(arguments, environ, text, CHAINS_MAX) != 0)
        return;
    json_auto_t *listed = json_loads(text, 0, NULL);
    doctor_report_filters(doctor, listed);
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
