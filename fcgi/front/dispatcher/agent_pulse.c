/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dispatcher/agent_pulse.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/places.h"
#include "db/named_lease.h"
#include "dispatcher/idle.h"
#include "host/host.h"
#include "http/pool.h"
#include "network/firewall_client.h"
#include "runtime/agent_client.h"
#include "runtime/agent_client_many.h"
#include "sandbox/sandbox_events.h"
#include "sandbox/sandbox_row.h"

#define LEASE         "pulses of agents"
#define EVERY_MS      15000 /* for each sandbox */
#define ANSWER_MS     10000
#define LIST_EVERY_MS 5000
/* From the first of the questions without an answer to the end of the third. An agent whose sandbox
 * uses all processor time answers late. Its calls must not be ended. */
#define SILENT_AFTER_MS 30000
/* When this process was busy for longer, answers may have arrived unread: a miss does not count. */
#define STALL_MS 1000

/* The questions to the agent of one run of a sandbox. */
struct beat {
    struct sandbox_ready of;
    uint32_t host_id;
    struct tenant tenant;
    bool is_listed;                  /* the latest list contains it */
    int64_t since_ms;                /* monotonic: the first list with it */
    int64_t asked_ms;                /* monotonic */
    unsigned misses;                 /* questions in a row without an answer */
    int64_t missed_ms;               /* monotonic: the time of the first missed question */
    struct agent_question *question; /* NULL: no question is open */
};

struct agent_pulse {
    struct worker *worker;
    struct agent_refresh *refresh;
    struct agent_many *many;
    struct places open;  /* the open questions, by key_of() */
    struct beat **beats; /* sorted by the ids of their sandboxes */
    size_t count;
    int64_t list_ms; /* monotonic: the time of the next list */
    int64_t read_ms; /* monotonic: when answers were last read */
};

struct agent_pulse *agent_pulse_new(struct worker *worker, struct agent_refresh *refresh)
{
    struct agent_pulse *pulse = xcalloc(1, sizeof *pulse);
    *pulse = (struct agent_pulse){.worker = worker, .refresh = refresh};
    pulse->open = (struct places){.most = AGENT_PULSE_MAX, .most_of_tenant = AGENT_PULSE_TENANT};
    pulse->many = agent_many_open();
    return pulse;
}

static uint64_t key_of(const struct beat *beat)
{
    return (uint64_t)(uintptr_t)beat;
}

static void free_beat(struct agent_pulse *pulse, struct beat *beat)
{
    if (beat->question)
        agent_many_drop(pulse->many, beat->question);
    places_leave(&pulse->open, key_of(beat));
    free(beat);
}

static void forget_all(struct agent_pulse *pulse)
{
    for (size_t i = 0; i < pulse->count; i++)
        free_beat(pulse, pulse->beats[i]);
    pulse->count = 0;
}

void agent_pulse_free(struct agent_pulse *pulse)
{
    error_auto ignored = NULL; /* the lease ends by itself soon */
    forget_all(pulse);
    free(pulse->beats);
    agent_many_close(pulse->many);
    named_lease_release(pulse->worker->db, LEASE, pulse->worker->lease_owner, &ignored);
    free(pulse);
}

/* --- the list --- */

static int by_id(const void *a, const void *b)
{
    return strcmp((*(struct beat *const *)a)->of.id, (*(struct beat *const *)b)->of.id);
}

static struct beat *find_beat(const struct agent_pulse *pulse, size_t known, const char *id)
{
    struct beat wanted;
    const struct beat *key = &wanted;
    memcpy(wanted.of.id, id, sizeof wanted.of.id);
    struct beat **found = known ? bsearch(&key, pulse->beats, known, sizeof key, by_id) : NULL;
    return found ? *found : NULL;
}

static bool is_same_run(const struct beat *beat, const struct sandbox_ready *ready,
                        uint32_t host_id)
{
    return beat->of.incarnation == ready->incarnation && beat->of.address == ready->address &&
           beat->host_id == host_id;
}

static void append_beat(struct agent_pulse *pulse, const struct sandbox_ready *ready,
                        uint32_t host_id)
{
    struct beat *beat = xcalloc(1, sizeof *beat);
    *beat = (struct beat){
        .of = *ready,
        .host_id = host_id,
        .tenant = {pool_tenant(ready->team_id), pool_tenant(ready->created_by)},
        .is_listed = true,
        .since_ms = clock_monotonic_ms(),
        .asked_ms = clock_monotonic_ms(), /* the start has just waited for the agent */
    };
    pulse->beats = xreallocarray(pulse->beats, pulse->count + 1, sizeof(struct beat *));
    pulse->beats[pulse->count++] = beat;
}

struct listing {
    struct agent_pulse *pulse;
    size_t known; /* the number of beats before this list, which are sorted */
};

static int list_host(void *context, const struct host *host, struct error **err)
{
    struct listing *listing = context;
    struct agent_pulse *pulse = listing->pulse;
    autofree struct sandbox_ready *ready = NULL;
    size_t count = 0;
    if (sandbox_row_ready_on_host(pulse->worker->db, host->id, &ready, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct beat *beat = find_beat(pulse, listing->known, ready[i].id);
        if (beat && is_same_run(beat, &ready[i], host->id)) {
            beat->of = ready[i];
            beat->is_listed = true;
        } else {
            append_beat(pulse, &ready[i], host->id);
        }
    }
    return 0;
}

/* Drop the beats that are not in the latest list. A sandbox that was paused, deleted or restarted
 * since then starts without misses. */
static void drop_unlisted(struct agent_pulse *pulse)
{
    size_t kept = 0;
    for (size_t i = 0; i < pulse->count; i++) {
        if (pulse->beats[i]->is_listed)
            pulse->beats[kept++] = pulse->beats[i];
        else
            free_beat(pulse, pulse->beats[i]);
    }
    pulse->count = kept;
    if (kept)
        qsort(pulse->beats, kept, sizeof(struct beat *), by_id);
}

static int list(struct agent_pulse *pulse, struct error **err)
{
    struct worker *worker = pulse->worker;
    struct listing listing = {pulse, pulse->count};
    bool ours;
    if (named_lease_take(worker->db, LEASE, worker->lease_owner, &ours, err) < 0)
        return -1;
    if (!ours) {
        forget_all(pulse);
        return 0;
    }
    for (size_t i = 0; i < pulse->count; i++)
        pulse->beats[i]->is_listed = false;
    if (hosts_each(worker->db, list_host, &listing, NULL, err) < 0) {
        forget_all(pulse);
        return -1;
    }
    drop_unlisted(pulse);
    return 0;
}

/* --- questions --- */

/* Make a new link to a host. It stays valid when the host's row changes. *link NULL: connect
 * directly. */
static int make_link(struct worker *worker, uint32_t host_id, struct http_link **link,
                     struct error **err)
{
    struct relay_place relay;
    if (runtimes_relay(worker->runtimes, worker->db, host_id, &relay, err) < 0)
        return -1;
    *link =
        relay.url ? http_link_new(relay.host_name, relay.url, worker->settings->relay_dir) : NULL;
    return 0;
}

/* Ask an agent. An unreachable host does not count as a miss; host_pulse.h reports it. */
static void ask(struct agent_pulse *pulse, struct beat *beat)
{
    struct worker *worker = pulse->worker;
    char secret[AGENT_SECRET_SIZE];
    struct http_link *link;
    error_auto unreachable = NULL;
    beat->asked_ms = clock_monotonic_ms();
    if (!beat->misses)
        beat->missed_ms = beat->asked_ms;
    if (make_link(worker, beat->host_id, &link, &unreachable) < 0) {
        beat->misses = 0;
        return;
    }
    if (agent_secret(worker->ring, beat->of.instance_name, beat->of.agent_key_id, secret,
                     &unreachable) < 0) {
        http_link_free(link);
        return;
    }
    beat->question = agent_many_ask(pulse->many, link, beat->of.address, secret,
                                    beat->of.idle_timeout_s, ANSWER_MS, beat);
    mem_wipe(secret, sizeof secret);
}

static int by_asked(const void *a, const void *b)
{
    int64_t left = (*(struct beat *const *)a)->asked_ms;
    int64_t right = (*(struct beat *const *)b)->asked_ms;
    return (left > right) - (left < right);
}

/* Ask the agents that are due, the longest waiting first. */
static void ask_due(struct agent_pulse *pulse)
{
    int64_t before_ms = clock_monotonic_ms() - EVERY_MS;
    autofree struct beat **due = xcalloc(pulse->count + 1, sizeof *due);
    size_t count = 0;
    for (size_t i = 0; i < pulse->count; i++)
        if (!pulse->beats[i]->question && pulse->beats[i]->asked_ms <= before_ms)
            due[count++] = pulse->beats[i];
    qsort(due, count, sizeof *due, by_asked);
    for (size_t i = 0; i < count && pulse->open.count < pulse->open.most; i++) {
        if (!places_has_room(&pulse->open, &due[i]->tenant))
            continue;
        ask(pulse, due[i]);
        if (due[i]->question)
            places_take(&pulse->open, &due[i]->tenant, key_of(due[i]));
    }
}

/* --- answers --- */

/* End the open calls to an agent, which otherwise wait until their clients give up. */
static void end_calls(struct agent_pulse *pulse, const struct beat *beat)
{
    struct worker *worker = pulse->worker;
    struct runtime *runtime;
    error_auto err = NULL;
    if (runtimes_get(worker->runtimes, worker->db, beat->host_id, &runtime, &err) == 0) {
        struct firewall *firewall = runtimes_firewall(worker->runtimes, beat->host_id);
        if (!firewall)
            return;
        firewall_calls_end_begin(firewall, beat->of.address);
        firewall_end(firewall, &err);
    }
    if (err)
        log_warning(
            "cannot end the open calls to an agent that does not answer; their clients wait longer",
            LOG_STR("sandbox", beat->of.id), LOG_ERROR(err));
}

static void note(struct agent_pulse *pulse, struct beat *beat, bool is_silent)
{
    error_auto err = NULL;
    int64_t silent_ms = clock_monotonic_ms() - beat->missed_ms;
    if (is_silent == beat->of.is_silent)
        return;
    if (sandbox_note_silence(pulse->worker->db, beat->of.id, beat->of.incarnation,
                             is_silent ? clock_now_ms() - silent_ms : 0, &err) < 0) {
        log_warning("cannot record whether the agent of a sandbox answers; trying again",
                    LOG_STR("sandbox", beat->of.id), LOG_ERROR(err));
        return;
    }
    beat->of.is_silent = is_silent;
    log_info(is_silent ? "the agent of a sandbox does not answer"
                       : "the agent of a sandbox answers again",
             LOG_STR("sandbox", beat->of.id));
    if (is_silent)
        end_calls(pulse, beat);
}

/* Take the status of an answer; 0: no answer came. */
static void take_answer(struct agent_pulse *pulse, struct beat *beat, long status)
{
    if (status && status != AGENT_MANY_KNOWS)
        agent_refresh_restarted(pulse->refresh, beat->of.instance_name);
    if (status) {
        beat->misses = 0;
        note(pulse, beat, false);
    } else if (++beat->misses > 1 && clock_monotonic_ms() - beat->missed_ms >= SILENT_AFTER_MS) {
        note(pulse, beat, true);
    }
}

static void pause_if_idle(struct agent_pulse *pulse, const struct beat *beat, const char *answer)
{
    error_auto err = NULL;
    if (idle_is_over(&beat->of, answer, clock_monotonic_ms() - beat->since_ms) &&
        sandbox_pause_idle(pulse->worker, &beat->of, &err) < 0)
        log_warning("cannot pause an idle sandbox; trying again", LOG_STR("sandbox", beat->of.id),
                    LOG_ERROR(err));
}

static void take_answers(struct agent_pulse *pulse)
{
    struct agent_said said;
    int64_t now_ms = clock_monotonic_ms();
    bool stalled = now_ms - pulse->read_ms > STALL_MS;
    pulse->read_ms = now_ms;
    while (agent_many_take(pulse->many, &said)) {
        struct beat *beat = said.context;
        beat->question = NULL;
        places_leave(&pulse->open, key_of(beat));
        if (said.status || (said.asked && !stalled))
            take_answer(pulse, beat, said.status);
        if (said.status == AGENT_MANY_KNOWS)
            pause_if_idle(pulse, beat, said.body);
    }
}

void agent_pulse_work(struct agent_pulse *pulse)
{
    error_auto err = NULL;
    if (clock_monotonic_ms() >= pulse->list_ms) {
        if (list(pulse, &err) < 0)
            log_warning("cannot list the running sandboxes to check their agents; trying again",
                        LOG_ERROR(err));
        pulse->list_ms = clock_monotonic_ms() + LIST_EVERY_MS;
    }
    ask_due(pulse);
    agent_many_go_on(pulse->many);
    take_answers(pulse);
}

void agent_pulse_wait(struct agent_pulse *pulse, int fd, unsigned wait_ms)
{
    agent_many_wait(pulse->many, fd, wait_ms);
}
