/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "base/mem.h"
#include "ctl/doctor.h"
#include "host/host.h"
#include "host/runtimes.h"
#include "network/firewall_client.h"

/* Without it each of these creates waits for Incus, and no other check shows this. */
static void check_sizing(struct doctor *doctor, const struct host *host, struct firewall *firewall)
{
    error_auto err = NULL;
    autofree char *reason = NULL;
    if (firewall_sizing(firewall, &reason, &err) < 0) {
        if (err->code != ERR_RUNTIME_REFUSED)
            doctor_wrong(doctor, "sizing", "See the line about the firewall.", "%s: %s.",
                         host->name, err->message);
    } else if (reason) {
        doctor_wrong(doctor, "sizing",
                     "Check that sandlot-limits runs there by its systemd unit. Until then, "
                     "creates in other sizes than the warm instances' are slower.",
                     "sandlot-limits of %s cannot set the sizes of instances: %s.", host->name,
                     reason);
    } else {
        doctor_ok(doctor, "sizing", "sandlot-limits of %s sets the sizes of instances.",
                  host->name);
    }
}

static void check_egress_addresses(struct doctor *doctor, const struct host *host,
                                   struct firewall *firewall)
{
    error_auto ignored = NULL;
    json_auto_t *missing = NULL;
    size_t count;
    /* A firewall of an earlier version does not know; one without an answer is reported already. */
    if (firewall_egress_addresses(firewall, &missing, &count, &ignored) < 0 || !count)
        return;
    const char *first = json_string_value(json_array_get(missing, 0));
    if (first)
        doctor_wrong(doctor, "egress_addresses",
                     "Add the address to a network interface of this host again, or remove the "
                     "team from its egress_addresses and restart sandlot-firewall.",
                     "%s does not have the address %s of egress_addresses: the sandboxes of this "
                     "team get no answers from the internet.",
                     host->name, first);
    else
        doctor_ok(doctor, "egress_addresses", "%s has the egress address%s of %zu team%s.",
                  host->name, count == 1 ? "" : "es", count, count == 1 ? "" : "s");
}

/* It answers only while its table is in the kernel; every sandbox that runs should have a policy.
 */
void doctor_check_firewall(struct doctor *doctor, const struct host *host)
{
    error_auto err = NULL;
    struct firewall_policy *policies = NULL;
    size_t count = 0;
    struct firewall *firewall = runtimes_firewall(doctor->ctl->runtimes, host->id);
    if (!host->firewall_url && !host->relay_url) {
        doctor_wrong(doctor, "firewall",
                     "Run `sandlotctl host add` again with the same values and --firewall.",
                     "The database has no firewall address for %s: its sandboxes have no network.",
                     host->name);
        return;
    }
    if (!firewall)
        return; /* the host itself could not be asked, which is said already */
    if (firewall_list(firewall, &policies, &count, &err) < 0)
        doctor_wrong(doctor, "firewall",
                     "Check that sandlot-firewall and nginx run there, that load-network has "
                     "loaded the table, and that --firewall of the host is its socket or address.",
                     "%s at %s: %s.", host->name,
                     host->firewall_url ? host->firewall_url : host->relay_url, err->message);
    else
        doctor_ok(doctor, "firewall", "The firewall of %s answers; %zu polic%s applied.",
                  host->name, count, count == 1 ? "y is" : "ies are");
    if (!err) {
        doctor_check_host_clock(doctor, host, firewall);
        check_sizing(doctor, host, firewall);
        check_egress_addresses(doctor, host, firewall);
    }
    firewall_policies_free(policies, count);
}
