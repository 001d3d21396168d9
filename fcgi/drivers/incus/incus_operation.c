/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wait for background operations of Incus. */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/trace.h"
#include "incus/incus_internal.h"

/* Short, so that a wait through proxies and tunnels is never silent for long. */
#define WAIT_SLICE_S 2

static enum incus_reach ask(struct incus *incus, const char *uuid, const char *query,
                            json_t **document, struct error **err)
{
    autofree char *path = xasprintf("/1.0/operations/%s%s", uuid, query);
    struct incus_request request = {
        .method = "GET",
        .path = path,
        .timeout_s = INCUS_REQUEST_TIMEOUT_S,
        .answer_max = INCUS_ANSWER_MAX,
        .outside_project = true,
    };
    return incus_exchange(incus, &request, document, err);
}

static int unknown(struct error **err, const char *why)
{
    return error_set(err, ERR_OUTCOME_UNKNOWN, "cannot read the result of an Incus operation: %s",
                     why);
}

/* Read one answer about the operation. Returns 1 when it still runs. */
static int judge(struct incus *incus, const struct incus_answer *answer, struct error **err)
{
    enum incus_operation_state state;
    const char *text;
    int code;
    if (incus_operation_read(answer->metadata, &state, &code, &text) < 0)
        return unknown(err, "the operation has an unknown status code");
    if (state == INCUS_OPERATION_RUNNING)
        return 1;
    if (state == INCUS_OPERATION_DONE)
        return 0;
    /* Every failed operation has 400: only the message says more. */
    incus->last_error = incus_error_of(code, text);
    return incus_error_set(err, incus->last_error, text);
}

/* Read the state from the operation itself: `wait` answers with the same error 500 when its time is
 * over and when the operation failed. */
static int look(struct incus *incus, const char *uuid, struct error **err)
{
    json_auto_t *document = NULL;
    struct incus_answer answer;
    if (ask(incus, uuid, "", &document, err) != INCUS_ANSWERED)
        return (*err)->code == ERR_RUNTIME_UNAVAILABLE ? error_recode(err, ERR_OUTCOME_UNKNOWN)
                                                       : -1;
    if (incus_answer_read(document, &answer) < 0)
        return unknown(err, "the answer has an unknown form");
    if (answer.type == INCUS_ANSWER_ERROR)
        /* It ended more than five seconds ago, or the server was started again. */
        return unknown(err,
                       answer.code == 404 ? "Incus no longer has the operation" : answer.error);
    return judge(incus, &answer, err);
}

static int wait_slice(struct incus *incus, const char *uuid, struct error **err)
{
    autofree char *query = xasprintf("/wait?timeout=%d", WAIT_SLICE_S);
    json_auto_t *document = NULL;
    struct incus_answer answer;
    if (ask(incus, uuid, query, &document, err) != INCUS_ANSWERED)
        return (*err)->code == ERR_RUNTIME_UNAVAILABLE ? error_recode(err, ERR_OUTCOME_UNKNOWN)
                                                       : -1;
    if (incus_answer_read(document, &answer) < 0 || answer.type != INCUS_ANSWER_SYNC)
        return look(incus, uuid, err);
    return judge(incus, &answer, err);
}

static int wait_for_end(struct incus *incus, const char *uuid, unsigned most_s, struct error **err)
{
    int64_t give_up_ms = clock_monotonic_ms() + (int64_t)most_s * 1000;
    for (;;) {
        int result = wait_slice(incus, uuid, err);
        if (result <= 0)
            return result;
        if (clock_monotonic_ms() > give_up_ms)
            return error_set(
                err, ERR_OUTCOME_UNKNOWN,
                "cannot read the result of an Incus operation: it did not end within %u s", most_s);
    }
}

/* Incus does not accept a trace id: this log line connects a request with its operations. */
int incus_operation_wait(struct incus *incus, const char *uuid, unsigned most_s, struct error **err)
{
    int64_t started_ms = clock_monotonic_ms();
    int result = wait_for_end(incus, uuid, most_s, err);
    if (trace_id())
        log_info("Incus operation ended", LOG_STR("incus_operation", uuid),
                 LOG_INT("duration_ms", clock_monotonic_ms() - started_ms),
                 LOG_STR("failure", result < 0 ? (*err)->message : NULL));
    return result;
}
