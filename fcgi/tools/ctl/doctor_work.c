/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ctl/ctl_db.h"
#include "ctl/doctor.h"
#include "event/event.h"
#include "host/host.h"
#include "moving/moving.h"
#include "overview/overview_db.h"
#include "sandbox/reservation.h"
#include "sandbox/sandbox_size.h"

/* The dispatcher looks several times a second; so long a delay means that none runs. */
#define LATE_MS        10000

#define DAY_MS         (24LL * 3600 * 1000)

#define STUCK_ATTEMPTS 4
#define STUCK_SHOWN    5

static void check_late(struct doctor *doctor)
{
    error_auto err = NULL;
    bool alive;
    struct operation_count counts[OVERVIEW_KINDS_MAX];
    unsigned count;
    uint64_t due, overdue = 0;
    int64_t now_ms = clock_now_ms();
    if (host_is_watched(doctor->ctl->db, &alive, &err) < 0 ||
        overview_count_due(doctor->ctl->db, now_ms - LATE_MS, &due, &err) < 0 ||
        overview_count_operations(doctor->ctl->db, now_ms - LATE_MS, counts, &count, &err) < 0) {
        doctor_wrong(doctor, "dispatcher", "See the line about the database.", "%s.", err->message);
        return;
    }
    for (unsigned i = 0; i < count; i++)
        overdue += counts[i].overdue;
    if (!alive)
        doctor_wrong(doctor, "dispatcher", "Start sandlot-dispatcher.",
                     "No dispatcher is running: deadlines have no effect, and interrupted "
                     "operations stay unfinished.");
    else if (due || overdue)
        doctor_wrong(doctor, "dispatcher", "Check that sandlot-dispatcher runs, and read its log.",
                     "%llu sandboxes are past their deadline and %llu operations have lost their "
                     "worker for more than %d seconds.",
                     (unsigned long long)due, (unsigned long long)overdue, LATE_MS / 1000);
    else
        doctor_ok(doctor, "dispatcher", "No deadline or operation is late.");
}

/* Whether memory survives a pause shows only when one is made; report the results of the last
 * ones. */
static void check_pause(struct doctor *doctor)
{
    error_auto err = NULL;
    struct ctl_outcome pause, resume;
    char at[CLOCK_ISO8601_SIZE];
    if (ctl_db_latest_outcome(doctor->ctl->db, "pause", &pause, &err) < 0 ||
        ctl_db_latest_outcome(doctor->ctl->db, "resume", &resume, &err) < 0) {
        doctor_wrong(doctor, "pause", "See the line about the database.", "%s.", err->message);
        return;
    }
    if (pause.found && !pause.done)
        doctor_note(doctor, "pause", "The last pause failed, at %s: %s.",
                    clock_format_iso8601(pause.at_ms, at), pause.last_error);
    if (!resume.found)
        doctor_note(doctor, "pause",
                    "No sandbox has been resumed yet, so sandlotctl cannot say whether pauses keep "
                    "memory.");
    else if (!resume.done)
        doctor_note(doctor, "pause", "The last resume failed, at %s: %s.",
                    clock_format_iso8601(resume.at_ms, at), resume.last_error);
    else if (!strcmp(resume.resumed_from, "memory"))
        doctor_ok(doctor, "pause", "Pauses keep memory: the last resume, at %s, started from it.",
                  clock_format_iso8601(resume.at_ms, at));
    else if (!resume.resumed_from[0])
        doctor_note(doctor, "pause",
                    "The sandbox of the last resume, at %s, is paused again; the line about memory "
                    "shows whether memory was lost.",
                    clock_format_iso8601(resume.at_ms, at));
    else if (resume.last_error[0])
        doctor_note(doctor, "pause",
                    "The last resume, at %s, started from the disk: %s. See the line about CRIU.",
                    clock_format_iso8601(resume.at_ms, at), resume.last_error);
    else
        doctor_ok(doctor, "pause",
                  "The last resume, at %s, started from the disk, because its pause stored no "
                  "memory; the line about memory shows whether memory was lost.",
                  clock_format_iso8601(resume.at_ms, at));
}

/* Memory that was lost though it was to be kept, which the owners of the sandboxes have noticed. */
static void check_lost_memory(struct doctor *doctor)
{
    error_auto err = NULL;
    struct ctl_lost_memory lost;
    char at[CLOCK_ISO8601_SIZE];
    if (ctl_db_lost_memory(doctor->ctl->db, clock_now_ms() - DAY_MS, &lost, &err) < 0)
        doctor_wrong(doctor, "memory", "See the line about the database.", "%s.", err->message);
    else if (lost.count)
        doctor_note(doctor, "memory",
                    "In the last day, memory was lost %llu time%s; the last time at %s, in the %s "
                    "of sandbox %s: %s.",
                    (unsigned long long)lost.count, lost.count == 1 ? "" : "s",
                    clock_format_iso8601(lost.at_ms, at), lost.kind, lost.sandbox_id, lost.reason);
    else
        doctor_ok(doctor, "memory", "No pause or resume of the last day lost memory.");
}

/* Operations that are tried again and again. */
static void check_stuck(struct doctor *doctor)
{
    error_auto err = NULL;
    struct ctl_stuck stuck[STUCK_SHOWN];
    unsigned count;
    if (ctl_db_stuck(doctor->ctl->db, STUCK_ATTEMPTS, stuck, STUCK_SHOWN, &count, &err) < 0) {
        doctor_wrong(doctor, "operations", "See the line about the database.", "%s.", err->message);
        return;
    }
    for (unsigned i = 0; i < count; i++)
        doctor_wrong(doctor, "operations",
                     "Remove the cause in the message; the dispatcher then repeats the operation. "
                     "You can also delete the sandbox, which ends the operation.",
                     "The %s of sandbox %s on host %s failed %u times: %s.", stuck[i].kind,
                     stuck[i].sandbox_id, stuck[i].host, stuck[i].attempts,
                     stuck[i].last_error[0] ? stuck[i].last_error : "its processes died");
    if (!count)
        doctor_ok(doctor, "operations", "No operation fails repeatedly.");
}

static void check_warm(struct doctor *doctor)
{
    error_auto err = NULL;
    uint64_t ready, starting;
    if (!doctor->ctl->settings->warm_pool_size)
        return;
    if (ctl_db_count_warm(doctor->ctl->db, &ready, &starting, &err) < 0)
        doctor_wrong(doctor, "warm pool", "See the line about the database.", "%s.", err->message);
    else if (!ready)
        doctor_wrong(
            doctor, "warm pool",
            "If this lasts, read the log of sandlot-dispatcher. Creates take longer meanwhile.",
            "The warm pool has no ready instance; %llu are being started.",
            (unsigned long long)starting);
    else
        doctor_ok(doctor, "warm pool", "The warm pool has %llu ready instances.",
                  (unsigned long long)ready);
}

static void check_counters(struct doctor *doctor)
{
    error_auto err = NULL;
    autofree struct reservation_drift *drifts = NULL;
    size_t count;
    if (reservation_drifts(doctor->ctl->db, &drifts, &count, &err) < 0)
        doctor_wrong(doctor, "counters", "See the line about the database.", "%s.", err->message);
    else if (count)
        doctor_wrong(doctor, "counters",
                     "sandlot-dispatcher corrects and logs the row in its next sweep. If this "
                     "happens again, report it as a bug.",
                     "The reservation of %s differs from the sum of its sandboxes (%zu such rows).",
                     drifts[0].owner, count);
    else
        doctor_ok(doctor, "counters", "Each reservation equals the sum of its sandboxes.");
}

static void check_events(struct doctor *doctor)
{
    error_auto err = NULL;
    uint64_t count, lag_ms;
    if (event_backlog(doctor->ctl->db, &count, &lag_ms, &err) < 0)
        doctor_wrong(doctor, "events", "See the line about the database.", "%s.", err->message);
    else if (lag_ms > LATE_MS)
        doctor_wrong(doctor, "events", "Check that sandlot-dispatcher runs, and read its log.",
                     "Clients cannot read %llu events yet; the oldest has waited for %llu seconds.",
                     (unsigned long long)count, (unsigned long long)lag_ms / 1000);
    else
        doctor_ok(doctor, "events", "No event is late.");
}

/* Moves of checkpoints, volumes, template sources and running sandboxes. (Moves of stopped
 * sandboxes are operations.) */
static void check_moves(struct doctor *doctor)
{
    error_auto err = NULL;
    struct move_count counts[MOVE_COUNTS_MAX];
    unsigned count;
    bool failed = false;
    if (move_counts(doctor->ctl->db, counts, &count, &err) < 0) {
        doctor_wrong(doctor, "moves", "See the line about the database.", "%s.", err->message);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(counts[i].state, "failed"))
            continue;
        failed = true;
        doctor_note(doctor, "moves",
                    "%llu moves of kind %s failed recently; one reason: %s. The objects stay on "
                    "their host; a drain tries again after a minute.",
                    (unsigned long long)counts[i].count, counts[i].kind, counts[i].last_error);
    }
    if (!failed)
        doctor_ok(
            doctor, "moves",
            "No move of a checkpoint, volume, template or running sandbox has failed recently.");
}

/* Until then Incus would start them in another size, and hands out their processors by it. */
static void check_sizes(struct doctor *doctor)
{
    error_auto err = NULL;
    uint64_t count;
    if (sandbox_size_overdue(doctor->ctl->db, &count, &err) < 0)
        doctor_wrong(doctor, "sizes", "See the line about the database.", "%s.", err->message);
    else if (count)
        doctor_wrong(doctor, "sizes",
                     "Read the log of the dispatcher, and check that Incus on these hosts answers.",
                     "Incus does not have the size of %llu running sandboxes yet.",
                     (unsigned long long)count);
    else
        doctor_ok(doctor, "sizes", "Incus has the size of each sandbox.");
}

void doctor_check_work(struct doctor *doctor)
{
    check_counters(doctor);
    check_late(doctor);
    check_stuck(doctor);
    check_moves(doctor);
    check_sizes(doctor);
    check_warm(doctor);
    check_pause(doctor);
    check_lost_memory(doctor);
    check_events(doctor);
}
