/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check the machines that are joining. */
#include "base/clock.h"
#include "ctl/doctor.h"
#include "joining/join.h"

/* Longest normal time of each step. */
#define SETTING_UP_MS (15 * 60 * (int64_t)1000)
#define TRIAL_MS      (2 * 60 * (int64_t)1000)

static void report_setting_up(struct doctor *doctor, const struct join *join, const char *since)
{
    if (clock_now_ms() - join->since_ms < SETTING_UP_MS)
        doctor_note(doctor, "join",
                    "%s has been joining since %s: the machine at %s is setting itself up.",
                    join->name, since, join->address);
    else
        doctor_wrong(doctor, "join",
                     "Read the output of sandlot-host-join on that machine, and run it there again "
                     "with the same token. Or end the joining with `sandlotctl host rm`.",
                     "%s has been joining since %s, and the machine at %s has not reported that it "
                     "is set up.",
                     join->name, since, join->address);
}

static void report_trial(struct doctor *doctor, const struct join *join, const char *since)
{
    if (*join->failure)
        doctor_wrong(doctor, "join",
                     "The dispatcher repeats the trial every few seconds until it succeeds. To end "
                     "the joining, run `sandlotctl host rm`.",
                     "%s has been set up since %s, and its trial fails: %s", join->name, since,
                     join->failure);
    else if (clock_now_ms() - join->since_ms < TRIAL_MS)
        doctor_note(doctor, "join",
                    "%s has been set up since %s; the dispatcher is running a trial sandbox there.",
                    join->name, since);
    else
        doctor_wrong(
            doctor, "join", "Start sandlot-dispatcher, or read its log.",
            "%s has been set up since %s, and no dispatcher has run a trial sandbox there.",
            join->name, since);
}

void doctor_check_joins(struct doctor *doctor)
{
    error_auto err = NULL;
    struct join *joins = NULL;
    unsigned count = 0;
    char since[CLOCK_ISO8601_SIZE];
    if (join_list(doctor->ctl->db, &joins, &count, &err) < 0)
        doctor_wrong(doctor, "join", "See the line about the database.", "%s.", err->message);
    for (unsigned i = 0; i < count; i++) {
        clock_format_iso8601(joins[i].since_ms, since);
        if (joins[i].state == JOIN_TAKEN)
            report_setting_up(doctor, &joins[i], since);
        else if (joins[i].state == JOIN_TRIAL)
            report_trial(doctor, &joins[i], since);
    }
    joins_free(joins, count);
}
