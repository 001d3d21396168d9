/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dispatcher/host_pulse.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/host.h"
#include "http/link_ask.h"

enum {
    ASK_MOST_MS = 1000,
    /* The time since the last answer, and the number of failed questions. The last answer may be up
     * to two seconds older than the failure. */
    SILENT_MS = 5000,
    SILENT_LOOKS = 2,
    DOWN_MS = 7000,
    DOWN_LOOKS = 3,
    BACK_LOOKS = 2,
};

/* Incus or the relay. */
struct side {
    int64_t answered_ms;   /* monotonic */
    unsigned failed, good; /* questions in a row */
};

struct host_pulse {
    struct worker *worker;
    uint32_t host_id;
    bool known; /* the host's row has been read */
    bool doubt;
    struct host_condition said;
    struct side incus, relay;
};

struct host_pulse *host_pulse_new(struct worker *worker, uint32_t host_id)
{
    struct host_pulse *pulse = xcalloc(1, sizeof *pulse);
    pulse->worker = worker;
    pulse->host_id = host_id;
    pulse->doubt = true; /* another process may have found it silent */
    pulse->incus.answered_ms = pulse->relay.answered_ms = clock_monotonic_ms();
    return pulse;
}

void host_pulse_free(struct host_pulse *pulse)
{
    free(pulse);
}

static void note(struct side *side, bool answered)
{
    side->good = answered ? side->good + 1 : 0;
    side->failed = answered ? 0 : side->failed + 1;
    if (answered)
        side->answered_ms = clock_monotonic_ms();
}

void host_pulse_note(struct host_pulse *pulse, bool answered)
{
    if (answered && !pulse->doubt) {
        note(&pulse->incus, true);
        note(&pulse->relay, true);
    }
    pulse->doubt |= !answered;
}

bool host_pulse_is_in_doubt(const struct host_pulse *pulse)
{
    return pulse->doubt;
}

/* --- questions --- */

static bool incus_answers(struct runtime *runtime)
{
    error_auto ignored = NULL;
    uint64_t total, used;
    if (!runtime)
        return false;
    runtime_limit(runtime, ASK_MOST_MS);
    int result = runtime->ops->measure->pool(runtime, &total, &used, &ignored);
    runtime_limit(runtime, 0);
    return result == 0 || !error_is_transient(ignored);
}

static bool relay_answers(struct host_pulse *pulse)
{
    struct worker *worker = pulse->worker;
    const struct http_link *link;
    int64_t expires_at_ms;
    error_auto ignored = NULL;
    if (runtimes_link(worker->runtimes, worker->db, pulse->host_id, &link, &ignored) < 0)
        return false;
    return !link || http_link_ask(link, ASK_MOST_MS, &expires_at_ms, &ignored) == 0;
}

/* --- conclusions --- */

/* Update *since_ms, which is 0 while the side answers. */
static void judge(const struct side *side, int64_t after_ms, unsigned looks, int64_t *since_ms)
{
    int64_t silence_ms = clock_monotonic_ms() - side->answered_ms;
    if (*since_ms && side->good >= BACK_LOOKS)
        *since_ms = 0;
    else if (!*since_ms && side->failed >= looks && silence_ms >= after_ms)
        *since_ms = clock_now_ms() - silence_ms;
}

static void tell(const struct host_pulse *pulse, const struct host_condition *now)
{
    int64_t since_ms;
    const char *name = host_condition_name(now, &since_ms);
    if (now->silent_since_ms)
        log_warning("a host does not answer", LOG_INT("host", pulse->host_id),
                    LOG_STR("condition", name), LOG_INT("for_ms", clock_now_ms() - since_ms));
    else
        log_info("a host answers again", LOG_INT("host", pulse->host_id));
}

/* Write a changed condition to the host's row. If the database is away, the next question writes
 * it. */
static void conclude(struct host_pulse *pulse, bool *back)
{
    struct host_condition now = pulse->said;
    error_auto err = NULL;
    judge(&pulse->incus, SILENT_MS, SILENT_LOOKS, &now.silent_since_ms);
    judge(&pulse->relay, DOWN_MS, DOWN_LOOKS, &now.down_since_ms);
    if (now.silent_since_ms == pulse->said.silent_since_ms &&
        now.down_since_ms == pulse->said.down_since_ms)
        return;
    if (host_note_condition(pulse->worker->db, pulse->host_id, &now, &err) < 0) {
        log_warning("cannot record whether a host answers; trying again",
                    LOG_INT("host", pulse->host_id), LOG_ERROR(err));
        return;
    }
    tell(pulse, &now);
    *back = pulse->said.silent_since_ms && !now.silent_since_ms;
    pulse->said = now;
}

static int read_said(struct host_pulse *pulse, struct error **err)
{
    struct host host;
    if (host_get(pulse->worker->db, pulse->host_id, &host, err) < 0)
        return -1;
    pulse->said = host.condition;
    pulse->known = true;
    host_deinit(&host);
    return 0;
}

void host_pulse_look(struct host_pulse *pulse, struct runtime *runtime, bool *back)
{
    error_auto ignored = NULL;
    *back = false;
    if (!pulse->known && read_said(pulse, &ignored) < 0)
        return;
    bool answers = incus_answers(runtime);
    note(&pulse->incus, answers);
    note(&pulse->relay, answers || relay_answers(pulse));
    conclude(pulse, back);
    pulse->doubt = !answers || pulse->said.silent_since_ms;
}
