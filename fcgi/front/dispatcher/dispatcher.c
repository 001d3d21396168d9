/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dispatcher/dispatcher.h"

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/notify.h"
#include "db/lease_board.h"
#include "dispatcher/due.h"
#include "dispatcher/jobs.h"

#define FAILURE_PAUSE_MS 500 /* after a failure of the database */
#define GATHER_MS        50
#define REST_MOST_MS     5000
#define HELD_ROW_MS      50    /* before another look at a due row that could not be taken */
#define AGAIN_MOST_MS    3000  /* after the last work of a process with again_ms */
#define LOOK_SELDOM_MS   60000 /* for processes that get a notice each second while there is work */
#define BACK_OFF_MIN_MS  500
#define BACK_OFF_MAX_MS  30000

int dispatcher_open(const struct settings *settings, struct worker *worker, struct error **err)
{
    return worker_open(settings, DISPATCHER_NAME, worker, err);
}

/* Delay the next turn of a job that has failed, longer each time. */
static void back_off(struct job *job)
{
    unsigned rest_ms = job->rest_ms ? job->rest_ms * 2 : BACK_OFF_MIN_MS;
    job->rest_ms = rest_ms < BACK_OFF_MAX_MS ? rest_ms : BACK_OFF_MAX_MS;
    job->due_at_ms = clock_monotonic_ms() + job->rest_ms;
}

/* Do one piece of work. Returns whether there was one. */
static bool work_next(struct worker *worker, struct job *job)
{
    error_auto err = NULL;
    bool worked = false;
    int result = job->next(worker, &worked, &err);
    lease_board_leave();
    if (worked || result < 0)
        COUNT(COUNT_JOBS, job->name, result < 0 ? "failed" : "done");
    if (result == 0 && worked)
        job->rest_ms = 0;
    if (result < 0) {
        if (job->backs_off)
            back_off(job);
        log_warning("a job failed; trying again", LOG_STR("job", job->name), LOG_ERROR(err));
        if (!worked)
            clock_sleep_ms(FAILURE_PAUSE_MS);
    }
    log_context_clear();
    return worked;
}

static int64_t cadence_ms(const struct worker *worker, const struct job *job)
{
    return job->every_ms ? job->every_ms : (int64_t)worker->settings->lease_s * 1000;
}

/* Run a sweep. Its failure does not stop the other jobs. */
static void sweep(struct worker *worker, struct job *job)
{
    error_auto err = NULL;
    int result = job->sweep ? job->sweep(worker, &err) : job->tidy(worker->db, &err);
    COUNT(COUNT_JOBS, job->name, result < 0 ? "failed" : "done");
    if (result < 0)
        log_warning("a background sweep failed; trying again", LOG_STR("job", job->name),
                    LOG_ERROR(err));
    job->due_at_ms = clock_monotonic_ms() + cadence_ms(worker, job);
}

/* Read the due work. Returns false when the database is away; nothing is due then. */
static bool look(struct worker *worker, struct due *due)
{
    error_auto err = NULL;
    if (due_look(worker->db, due, &err) == 0)
        return true;
    log_warning("cannot read due jobs from the database; trying again", LOG_ERROR(err));
    *due = (struct due){0};
    clock_sleep_ms(FAILURE_PAUSE_MS);
    return false;
}

/* Return whether a process has jobs that wait for due work. */
static bool has_due_jobs(enum dispatcher_process process)
{
    for (const struct job *job = dispatcher_jobs; job->process != PROCESS_COUNT; job++)
        if (job->process == process && job->due != DUE_UNKNOWN)
            return true;
    return false;
}

/* Do one round over the jobs of a process. Returns whether one had work. */
static bool work_once(struct worker *worker, enum dispatcher_process process, const struct due *due)
{
    bool any = false;
    for (struct job *job = dispatcher_jobs; job->process != PROCESS_COUNT; job++) {
        if (job->process != process || clock_monotonic_ms() < job->due_at_ms)
            continue;
        if (job->sweep || job->tidy)
            sweep(worker, job);
        else if (due_has(due, job->due))
            any |= work_next(worker, job);
    }
    return any;
}

/* Notify the processes that have work. One process of a dispatcher reads it for all. */
static void tell(const struct worker *worker, const struct due *due)
{
    bool said[NOTIFY_COUNT] = {[NOTIFY_NONE] = true};
    for (const struct job *job = dispatcher_jobs; job->process != PROCESS_COUNT; job++) {
        enum notify_kind kind = dispatcher_processes[job->process].notices;
        if (said[kind] || job->due == DUE_UNKNOWN || !due_has(due, job->due))
            continue;
        said[kind] = true;
        notify_send(worker->settings->api_socket, kind);
    }
}

/* Return the longest rest of a process: until the next known deadline, until a new deadline without
 * a notice could be due, or until a job's turn. */
static int64_t longest_rest_ms(const struct worker *worker, enum dispatcher_process process,
                               const struct due *due, bool hears)
{
    int64_t poll_ms = (int64_t)worker->settings->dispatcher_poll_ms;
    int64_t ms = hears ? REST_MOST_MS : poll_ms;
    if (process == PROCESS_DEADLINES) {
        int64_t left_ms = due->deadline_at_ms - clock_now_ms();
        if (!due->deadline_at_ms || left_ms >= poll_ms)
            return poll_ms;
        return left_ms > 0 ? left_ms : HELD_ROW_MS;
    }
    for (const struct job *job = dispatcher_jobs; job->process != PROCESS_COUNT; job++) {
        int64_t left_ms = job->due_at_ms - clock_monotonic_ms();
        if (job->process == process && left_ms > 0 && left_ms < ms)
            ms = left_ms;
    }
    return ms;
}

/* Wait for work. Returns whether to look for it: a notice came, or the process has worked lately.
 */
static bool rest(const struct worker *worker, enum dispatcher_process process,
                 const struct due *due, int notices, bool lately)
{
    int64_t ms = longest_rest_ms(worker, process, due, notices >= 0);
    if (lately && ms > dispatcher_processes[process].again_ms)
        ms = dispatcher_processes[process].again_ms;
    if (!notify_wait(notices, ms > 1 ? (unsigned)ms : 1))
        return lately;
    if (dispatcher_processes[process].notified) {
        /* One query serves all creates of a burst. */
        clock_sleep_ms(GATHER_MS);
        notify_wait(notices, 0);
        dispatcher_processes[process].notified();
    }
    return true;
}

static const struct job *own_loop(enum dispatcher_process process)
{
    for (const struct job *job = dispatcher_jobs; job->process != PROCESS_COUNT; job++)
        if (job->process == process && job->serve)
            return job;
    return NULL;
}

static void begin(const struct worker *worker)
{
    for (struct job *job = dispatcher_jobs; job->process != PROCESS_COUNT; job++)
        if (job->sweep && !job->at_start)
            job->due_at_ms = clock_monotonic_ms() + cadence_ms(worker, job);
}

void dispatcher_serve(struct worker *worker, enum dispatcher_process process,
                      const volatile sig_atomic_t *stop)
{
    const struct job *alone = own_loop(process);
    if (alone) {
        alone->serve(worker, stop);
        return;
    }
    begin(worker);
    if (dispatcher_processes[process].team_most)
        lease_board_join(process, dispatcher_processes[process].count,
                         dispatcher_processes[process].team_most);
    int notices = notify_open(worker->settings->api_socket, dispatcher_processes[process].notices);
    bool looks = has_due_jobs(process);
    bool looks_always = process == PROCESS_DEADLINES || notices < 0, told = true;
    bool again = dispatcher_processes[process].again_ms;
    int64_t look_at_ms = 0, again_until_ms = 0; /* monotonic */
    while (!*stop) {
        struct due due = {0};
        if (looks && (told || looks_always || clock_monotonic_ms() >= look_at_ms))
            look_at_ms = look(worker, &due) ? clock_monotonic_ms() + LOOK_SELDOM_MS : 0;
        if (process == PROCESS_DEADLINES)
            tell(worker, &due);
        told = work_once(worker, process, &due);
        if (told && again)
            again_until_ms = clock_monotonic_ms() + AGAIN_MOST_MS;
        if (!told && !*stop)
            told = rest(worker, process, &due, notices, clock_monotonic_ms() < again_until_ms);
    }
    notify_close(notices);
}
