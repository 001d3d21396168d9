/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "volume/volume_files.h"

#include <jansson.h>

#include "base/fault_point.h"
#include "base/instance.h"
#include "base/json_read.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

/* Each of these costs an attempt: a new volume server, the mount of a volume, a restarted
 * process. */
#define ATTEMPTS_MAX    5
#define OPEN_TIMEOUT_MS 15000

enum outcome { OUTCOME_FAILED = -1, OUTCOME_DONE, OUTCOME_AGAIN };

struct attempt {
    struct worker *worker;
    struct volume *volume;
    const struct volume_files_call *call;
    struct keeper keeper;
    char epoch[KEEPER_EPOCH_SIZE];
};

static int unavailable(const struct volume *volume, const char *why, struct error **err)
{
    log_warning("cannot reach the files of a volume; the client gets an error",
                LOG_STR("volume", volume->id), LOG_STR("reason", why));
    return error_set(err, ERR_RUNTIME_UNAVAILABLE,
                     "The runtime is not available at the moment; try again in a few seconds.");
}

/* --- refusals of the volume server --- */

static int full(const struct volume *volume, struct error **err)
{
    return error_set(err, ERR_PLAN_RESTRICTS_RESOURCES,
                     "The volume is full: it has %u GiB, which the team's plan allowed when the "
                     "volume was created. Delete files, or create another volume.",
                     volume->size_gb);
}

/* Return the input of the client with the wrong path. */
static const char *field_of(const struct volume_files_call *call, const json_t *refusal)
{
    const char *argument = json_string_value(json_object_get(refusal, "argument"));
    return call->from && str_equal(argument, "from") ? call->from : call->field;
}

static int refused(const struct attempt *attempt, const char *code, const char *message,
                   const char *field, struct error **err)
{
    switch (keeper_code_find(code)) {
    case KEEPER_NOT_FOUND:
        return error_set(err, ERR_NOT_FOUND, "%s", message);
    case KEEPER_INVALID:
        return error_set_field(err, ERR_INVALID_REQUEST, field, "%s", message);
    case KEEPER_EXISTS:
        return error_set_field(err, ERR_NAME_TAKEN, field, "%s", message);
    case KEEPER_NOT_EMPTY:
        return error_set_field(
            err, ERR_INVALID_REQUEST, "recursive",
            "The directory is not empty; recursive=true removes it with all that "
            "is in it.");
    case KEEPER_FENCED:
        return error_set(err, ERR_VOLUME_ATTACHED,
                         "A sandbox with the volume was started at the same time.");
    case KEEPER_NO_SPACE:
        return full(attempt->volume, err);
    default:
        return error_set(err, ERR_INTERNAL, "volume server %s: %s: %s",
                         attempt->keeper.instance_name, code ? code : "?", message);
    }
}

static int mount(const struct attempt *attempt, struct error **err)
{
    if (keeper_mount(attempt->worker, &attempt->keeper, attempt->volume, err) == 0)
        return OUTCOME_AGAIN;
    /* the volume server, or the volume, is gone; the next attempt finds out */
    return error_clear_if(err, ERR_NOT_FOUND) ? OUTCOME_AGAIN : OUTCOME_FAILED;
}

static int judge(const struct attempt *attempt, const struct keeper_answer *answer,
                 struct error **err)
{
    if (answer->status >= 200 && answer->status < 300)
        return OUTCOME_DONE;
    json_auto_t *json = json_read(buffer_string(&answer->text), answer->text.size, 0, NULL);
    const char *code = json_string_value(json_object_get(json, "code"));
    const char *message = json_string_value(json_object_get(json, "message"));
    bool not_mounted = keeper_code_find(code) == KEEPER_NOT_MOUNTED;
    bool gone = !answer->status || keeper_code_find(code) == KEEPER_OTHER_EPOCH;
    if (answer->broken)
        return error_set(err, ERR_INVALID_REQUEST, "The request body was cut off before its end.");
    if (!answer->body_begun && not_mounted)
        return mount(attempt, err);
    if (!answer->body_begun && gone)
        return OUTCOME_AGAIN;
    if (gone || not_mounted)
        return error_set(err, ERR_RUNTIME_UNAVAILABLE,
                         "the connection to the volume server broke: %s", answer->failure);
    return refused(attempt, code, message ? message : "", field_of(attempt->call, json), err);
}

/* --- requests --- */

static int ask(const struct attempt *attempt, const char *method, const char *resource,
               const char *query, struct keeper_answer *answer, struct error **err)
{
    const struct volume_files_call *call = attempt->call;
    bool real = resource == call->resource;
    autofree char *change =
        call->changes ? xasprintf("&generation=%llu&epoch=%s",
                                  (unsigned long long)attempt->volume->generation, attempt->epoch)
                      : xstrdup("");
    autofree char *path = xasprintf("/v/%s/%s?%s%s", attempt->volume->id, resource, query, change);
    struct keeper_request request = {
        .method = method,
        .path = path,
        .timeout_ms = real ? 0 : OPEN_TIMEOUT_MS,
        .upload = real ? call->upload : NULL,
        .download = real ? call->download : NULL,
    };
    return keeper_ask(attempt->worker, &attempt->keeper, &request, answer, err);
}

static int admit_body(struct db *db, void *context, struct error **err)
{
    struct attempt *attempt = context;
    return volume_files_admit(db, attempt->epoch, attempt->volume, err);
}

/* Allow the change, and check that the volume server can make it, before a body is read. */
static int open_for_change(struct attempt *attempt, struct keeper_answer *answer,
                           struct error **err)
{
    if (db_transaction(attempt->worker->db, admit_body, attempt, err) < 0)
        return OUTCOME_FAILED;
    fault_point(FAULT_FILES_ADMITTED);
    if (ask(attempt, "POST", "open", "", answer, err) < 0)
        return OUTCOME_FAILED;
    fault_point(FAULT_FILES_OPENED);
    return judge(attempt, answer, err);
}

static int run(struct attempt *attempt, struct keeper_answer *answer, struct error **err)
{
    const struct volume_files_call *call = attempt->call;
    if (keeper_ensure(attempt->worker, attempt->volume->host_id, &attempt->keeper, attempt->epoch,
                      err) < 0)
        return OUTCOME_FAILED;
    if (!call->changes) {
        if (volume_files_used(attempt->worker->db, attempt->volume, err) < 0 ||
            ask(attempt, call->method, call->resource, call->query, answer, err) < 0)
            return OUTCOME_FAILED;
        return judge(attempt, answer, err);
    }
    int outcome = open_for_change(attempt, answer, err);
    if (outcome != OUTCOME_DONE)
        return outcome;
    if (ask(attempt, call->method, call->resource, call->query, answer, err) < 0)
        return OUTCOME_FAILED;
    fault_point(FAULT_FILES_CHANGED);
    if (answer->broken)
        return judge(attempt, answer, err);
    /* The change may have happened, so a repetition could give a different answer. */
    if (!answer->status)
        return error_set(err, ERR_RUNTIME_UNAVAILABLE,
                         "the volume server did not answer a change, which may have been made: %s",
                         answer->failure);
    return judge(attempt, answer, err);
}

int volume_files_call(struct worker *worker, struct volume *volume,
                      const struct volume_files_call *call, struct keeper_answer *answer,
                      struct error **err)
{
    struct attempt attempt = {.worker = worker, .volume = volume, .call = call};
    for (unsigned i = 0; i < ATTEMPTS_MAX; i++) {
        int outcome = run(&attempt, answer, err);
        if (outcome != OUTCOME_AGAIN)
            break;
        if (i == ATTEMPTS_MAX - 1)
            return unavailable(volume, "each attempt failed at the volume server", err);
    }
    if (!*err)
        return 0;
    if ((*err)->code != ERR_OUTCOME_UNKNOWN && (*err)->code != ERR_DB_UNAVAILABLE &&
        (*err)->code != ERR_RUNTIME_UNAVAILABLE)
        return -1;
    error_auto inner = NULL;
    error_move(&inner, err);
    return unavailable(volume, inner->message, err);
}
