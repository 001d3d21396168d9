/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Leases, deadlines and answers compare times that different machines wrote. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "ctl/ctl_db.h"
#include "ctl/doctor.h"
#include "host/host.h"
#include "network/firewall_client.h"

#define APART_MS 500

/* A query took from before_ms to after_ms; the answer is half as old as this time. */
static void report(struct doctor *doctor, const char *whose, int64_t before_ms, int64_t after_ms,
                   int64_t there_ms)
{
    int64_t blur_ms = (after_ms - before_ms + 1) / 2, apart_ms = there_ms - (before_ms + blur_ms);
    const char *which = apart_ms < 0 ? "behind" : "ahead of";
    if (llabs(apart_ms) > APART_MS + blur_ms)
        doctor_wrong(doctor, "clock",
                     "Set the clocks of all machines of the deployment by NTP (systemd-timesyncd, "
                     "chrony): leases and deadlines compare their times.",
                     "The clock of %s is %" PRId64 " ms %s this machine's.", whose,
                     (int64_t)llabs(apart_ms), which);
    else
        doctor_ok(doctor, "clock",
                  "The clock of %s is %" PRId64 " ms %s this machine's, measured to within %" PRId64
                  " ms.",
                  whose, (int64_t)llabs(apart_ms), which, blur_ms);
}

void doctor_check_database_clock(struct doctor *doctor)
{
    error_auto err = NULL;
    int64_t there_ms, before_ms = clock_now_ms();
    if (ctl_db_clock(doctor->ctl->db, &there_ms, &err) < 0)
        doctor_wrong(doctor, "clock", "See the line about the database.", "%s.", err->message);
    else
        report(doctor, "the database's server", before_ms, clock_now_ms(), there_ms);
}

void doctor_check_host_clock(struct doctor *doctor, const struct host *host,
                             struct firewall *firewall)
{
    error_auto ignored = NULL;
    struct firewall_host there;
    int64_t before_ms = clock_now_ms();
    /* One of a version before does not say; that it does not answer is said already. */
    if (firewall_host(firewall, &there, &ignored) == 0 && there.now_ms)
        report(doctor, host->name, before_ms, clock_now_ms(), there.now_ms);
}
