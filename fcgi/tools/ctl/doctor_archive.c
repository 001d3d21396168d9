/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check the archive: whether its storage takes and returns an object, and late copies. */
#include <string.h>

#include "archive/archive.h"
#include "base/clock.h"
#include "ctl/doctor.h"

#define PROBE_KEY     "probe/doctor"
#define PROBE_TEXT    "written by sandlotctl doctor\n"
#define PROBE_MOST_MS 15000
#define LATE_MS       (3600 * (int64_t)1000)

/* The storage's own patience is longer than that of who sits in front of the terminal. */
static int tick(void *context, struct error **err)
{
    const int64_t *until_ms = context;
    return clock_monotonic_ms() < *until_ms
               ? 0
               : error_set(err, ERR_RUNTIME_UNAVAILABLE,
                           "the storage has not answered for %d seconds", PROBE_MOST_MS / 1000);
}

static int probe(struct objects *objects, struct error **err)
{
    char back[sizeof PROBE_TEXT];
    size_t got;
    if (objects_put(objects, PROBE_KEY, PROBE_TEXT, strlen(PROBE_TEXT), err) < 0 ||
        objects_read(objects, PROBE_KEY, 0, back, sizeof back, &got, err) < 0)
        return -1;
    if (got != strlen(PROBE_TEXT) || memcmp(back, PROBE_TEXT, got))
        return error_set(err, ERR_CONFIG,
                         "the storage returned other bytes than sandlotctl had written");
    return objects_delete(objects, PROBE_KEY, err);
}

static void check_storage(struct doctor *doctor)
{
    struct objects *objects = NULL;
    error_auto err = NULL;
    int64_t until_ms = clock_monotonic_ms() + PROBE_MOST_MS;
    int result = archive_open(doctor->ctl->settings, true, &objects, &err);
    if (result == 0) {
        objects_tick_by(objects, tick, &until_ms);
        result = probe(objects, &err);
    }
    objects_close(objects);
    if (result == 0)
        doctor_ok(doctor, "archive", "sandlotctl wrote, read and deleted an object in %s.",
                  doctor->ctl->settings->archive_url);
    else
        doctor_wrong(doctor, "archive",
                     "Check archive_url, archive_region and archive_credentials_file, and that the "
                     "storage answers.",
                     "%s.", err->message);
}

static void check_copies(struct doctor *doctor)
{
    struct archive_report report;
    error_auto err = NULL;
    if (archive_report(doctor->ctl->db, doctor->ctl->settings->archive_after_s, &report, &err) < 0)
        doctor_wrong(doctor, "archive", "See the line about the database.", "%s.", err->message);
    else if (report.failing)
        doctor_wrong(doctor, "archive", "Read the log of sandlot-dispatcher, which has their ids.",
                     "%llu copies to the archive have failed. The last error: %s.",
                     (unsigned long long)report.failing, report.failure);
    else if (report.behind && report.behind_since_ms < clock_now_ms() - LATE_MS)
        doctor_wrong(doctor, "archive", "Raise archive_kib_s, or use a faster storage.",
                     "%llu paused sandboxes and checkpoints are not in the archive yet; the oldest "
                     "is more than an hour late.",
                     (unsigned long long)report.behind);
    else
        doctor_ok(doctor, "archive",
                  "The archive has %llu sandboxes and %llu checkpoints; %llu are being copied.",
                  (unsigned long long)report.whole[ARCHIVE_SANDBOX],
                  (unsigned long long)report.whole[ARCHIVE_CHECKPOINT],
                  (unsigned long long)report.behind);
}

void doctor_check_archive(struct doctor *doctor)
{
    if (!archive_is_on(doctor->ctl->settings))
        return;
    check_storage(doctor);
    check_copies(doctor);
}
