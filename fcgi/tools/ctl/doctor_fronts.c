/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether this front has what the others have. */
#include "ctl/doctor.h"
#include "front/front.h"

static void report_ring(struct doctor *doctor, const struct front_ring *found)
{
    const char *path = doctor->ctl->settings->key_file;
    if (found->other)
        doctor_wrong(
            doctor, "key ring",
            "Bring the file of another front here and restart the programs; where it is "
            "lost, `sandlotctl keyring forget` lets this one count.",
            "%s has another key %u than the deployment: nothing that is sealed here can be "
            "opened by other fronts, and programs do not start with it.",
            path, found->other);
    else if (found->lacks)
        doctor_wrong(doctor, "key ring",
                     "Copy the file of another front here and restart the programs.",
                     "%s lacks key %u, which other fronts use: what they seal cannot be opened "
                     "here.",
                     path, found->lacks);
    else if (found->to_add)
        doctor_wrong(doctor, "key ring",
                     "Copy the file of the front with `sandlotctl keyring add` here and restart "
                     "the programs, before `sandlotctl keyring use` there.",
                     "%s lacks key %u, which is to be used next.", path, found->to_add);
    else
        doctor_ok(doctor, "key ring", "%s has all keys of the deployment.", path);
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

void doctor_check_fronts(struct doctor *doctor)
{
    error_auto err = NULL;
    struct front_difference *list = NULL;
    unsigned count = 0, fronts = 0;
    check_ring(doctor);
    if (front_compare(doctor->ctl->db, doctor->ctl->settings, &list, &count, &fronts, &err) < 0)
        doctor_wrong(doctor, "front", "See the line about the database.", "%s.", err->message);
    for (unsigned i = 0; i < count; i++)
        doctor_wrong(doctor, "front", "Write the same into both, and restart the programs there.",
                     "%s is \"%s\" here and \"%s\" on the front %s.", list[i].setting, list[i].here,
                     list[i].there, list[i].front);
    if (fronts && !count && !err)
        doctor_ok(doctor, "front", "%u other front%s the same settings where it matters.", fronts,
                  fronts == 1 ? " has" : "s have");
    front_differences_free(list, count);
}
