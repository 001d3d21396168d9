/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check that this front has the same keys and settings as the others. */
#include "base/clock.h"
#include "base/mem.h"
#include "ctl/doctor.h"
#include "front/front.h"

#define DAY_MS (24 * 60 * 60 * (int64_t)1000)

static void report_age(struct doctor *doctor, const char *path, const struct front_ring *found)
{
    long long days =
        found->newest_at_ms ? (long long)(clock_now_ms() - found->newest_at_ms) / DAY_MS : 0;
    doctor_ok(doctor, "key ring",
              "%s has all keys of the deployment. The newest is %lld day%s old; %u older key%s "
              "remain%s.",
              path, days, days == 1 ? "" : "s", found->old, found->old == 1 ? "" : "s",
              found->old == 1 ? "s" : "");
}

static void report_ring(struct doctor *doctor, const struct front_ring *found)
{
    const char *path = doctor->ctl->settings->key_file;
    if (found->other)
        doctor_wrong(
            doctor, "key ring",
            "Copy the file of another front node to this machine and restart the programs. If the "
            "deployment's key is lost, run `sandlotctl keyring forget`, which accepts this file.",
            "%s has another key %u than the deployment: other front nodes cannot decrypt the "
            "data of this one, and programs do not start with this file.",
            path, found->other);
    else if (found->lacks)
        doctor_wrong(
            doctor, "key ring",
            "Copy the file of another front node to this machine and restart the programs.",
            "%s lacks key %u, which other front nodes use: this one cannot decrypt their data.",
            path, found->lacks);
    else if (found->to_add)
        doctor_wrong(doctor, "key ring",
                     "Copy the file of the front node where you ran `sandlotctl keyring add` to "
                     "this machine and "
                     "restart the programs. Do this before you run `sandlotctl keyring use`.",
                     "%s lacks key %u, which the deployment will use next.", path, found->to_add);
    else
        report_age(doctor, path, found);
}

static void check_ring(struct doctor *doctor)
{
    error_auto err = NULL;
    struct keyring *ring = NULL;
    struct front_ring found;
    if (keyring_load(doctor->ctl->settings->key_file, &ring, &err) < 0)
        return; /* which is said already */
    if (front_ring_compare(doctor->ctl->db, ring, &found, &err) < 0)
        doctor_wrong(doctor, "key ring", "See the line about the database.", "%s.", err->message);
    else
        report_ring(doctor, &found);
    keyring_free(ring);
}

/* Report front nodes whose programs have not read a key; the file of this machine does not show it.
 */
static void check_running(struct doctor *doctor)
{
    error_auto err = NULL;
    autofree struct front_lag *list = NULL;
    unsigned count = 0;
    if (front_ring_lags(doctor->ctl->db, &list, &count, &err) < 0)
        doctor_wrong(doctor, "front", "See the line about the database.", "%s.", err->message);
    for (unsigned i = 0; i < count; i++)
        doctor_wrong(doctor, "front",
                     "Copy the key ring of a front node that has the key to this one, and restart "
                     "the programs there. It reports its keys once a minute.",
                     "The programs of the front node %s have not read key %u of the key ring.",
                     list[i].front, list[i].key);
}

void doctor_check_fronts(struct doctor *doctor)
{
    error_auto err = NULL;
    struct front_difference *list = NULL;
    unsigned count = 0, fronts = 0;
    check_ring(doctor);
    check_running(doctor);
    if (front_compare(doctor->ctl->db, doctor->ctl->settings, &list, &count, &fronts, &err) < 0)
        doctor_wrong(doctor, "front", "See the line about the database.", "%s.", err->message);
    for (unsigned i = 0; i < count; i++)
        doctor_wrong(doctor, "front",
                     "Set the same value on both front nodes, and restart the programs.",
                     "%s is \"%s\" here and \"%s\" on the front node %s.", list[i].setting,
                     list[i].here, list[i].there, list[i].front);
    if (fronts && !count && !err)
        doctor_ok(doctor, "front",
                  "%u other front node%s the same values of the settings that front nodes share.",
                  fronts, fronts == 1 ? " has" : "s have");
    front_differences_free(list, count);
}
