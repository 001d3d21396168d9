/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fork is a hidden checkpoint with memory, the rows of the sandboxes that dispatchers make from
 * it, and the deletion of the checkpoint after the last start. When the worker dies, a dispatcher
 * gives up the checkpoint after a while. Sandboxes whose rows are written are still made.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/notify.h"
#include "checkpoint/checkpoint_row.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/sandbox_list.h"

/* Slower sandboxes are returned as they are, so that no worker is held for long. */
#define WAIT_MOST_MS 20000
#define LOOK_MS      10

void sandbox_forked_free(struct sandbox_forked *list, unsigned count)
{
    for (unsigned i = 0; list && i < count; i++) {
        sandbox_deinit(&list[i].sandbox);
        error_clear(&list[i].failure);
    }
    free(list);
}

/* Take all choices of the create from the original, but its name. */
static void like_original(const struct sandbox *original, const struct sandbox_fork *request,
                          const struct checkpoint *copy, const char *envs,
                          struct sandbox_create *create)
{
    *create = (struct sandbox_create){
        .user_id = request->user_id,
        .team = request->team,
        .timeout_s = request->timeout_s ? request->timeout_s : original->timeout_s,
        .choices = original->choices,
        .metadata = original->metadata,
        .hooks = original->hooks,
        .network = original->network,
        .envs = *envs ? envs : NULL,
        .port_count = original->port_count,
        .copy = copy,
        .forked_from = original->id,
    };
    snprintf(create->name, sizeof create->name, "%s", request->name ? request->name : "");
    for (unsigned i = 0; i < original->port_count; i++)
        create->ports[i] = original->ports[i];
}

static void begin_one(struct worker *worker, const struct sandbox_create *create,
                      struct sandbox_forked *made)
{
    if (sandbox_create_queued(worker, create, &made->sandbox, &made->failure) < 0)
        log_info("cannot create a sandbox of a fork; the answer has the error in its place",
                 LOG_STR("sandbox", create->forked_from), LOG_ERROR(made->failure));
    else
        notify_send(worker->settings->api_socket,
                    made->sandbox.hooks[0] ? NOTIFY_OPERATIONS : NOTIFY_FORKS);
    fault_point(FAULT_FORK_BEGUN);
}

static int begin_all(struct worker *worker, const char *id, const struct sandbox_fork *request,
                     const struct checkpoint *copy, struct sandbox_forked *list, struct error **err)
{
    struct buffer envs = BUFFER_INIT(SANDBOX_ENVS_MAX);
    struct sandbox_create create;
    sandbox_auto original = {0};
    uint32_t log_kib; /* unused: the plan of the team decides it */
    int result = -1;
    if (sandbox_get(worker->db, id, &original, err) == 0 &&
        sandbox_open_envs(worker, id, &envs, &log_kib, err) == 0) {
        like_original(&original, request, copy, buffer_string(&envs), &create);
        /* After a refusal, the next one is still tried: there may be room again. */
        for (unsigned i = 0; i < request->count; i++, create.turn++)
            begin_one(worker, &create, &list[i]);
        result = 0;
    }
    buffer_wipe(&envs);
    return result;
}

/* Mark the checkpoint for deletion. The dispatcher deletes it when nothing is made from it any
 * more, also when this fails. */
static void give_up_copy(struct worker *worker, const struct checkpoint *copy)
{
    error_auto failure = NULL;
    if (checkpoint_row_deleting(worker->db, copy->id, 0, &failure) < 0)
        log_warning("cannot delete the checkpoint of a fork yet; the sweep deletes it",
                    LOG_STR("checkpoint", copy->id), LOG_ERROR(failure));
}

/* --- waiting --- */

static bool all_started(const struct sandbox *made, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (made[i].state == SANDBOX_CREATING || made[i].state == SANDBOX_RESTORING)
            return false;
    return true;
}

static void free_all(struct sandbox *made, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        sandbox_deinit(&made[i]);
    free(made);
}

static void take_news(struct sandbox_forked *one, struct sandbox *made, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(one->sandbox.id, made[i].id) != 0)
            continue;
        sandbox_deinit(&one->sandbox);
        one->sandbox = made[i];
        made[i] = (struct sandbox){0};
        return;
    }
    error_set(&one->failure, ERR_RUNTIME_UNAVAILABLE,
              "The new sandbox could not be started from the copy.");
}

/* A sandbox that cannot be read is returned as restoring. */
static void wait_for_all(struct worker *worker, const struct checkpoint *copy,
                         struct sandbox_forked *list, unsigned count)
{
    int64_t give_up_ms = clock_monotonic_ms() + WAIT_MOST_MS;
    struct sandbox *made = NULL;
    unsigned found = 0;
    error_auto failure = NULL;
    while (sandbox_list_of_copy(worker->db, copy->id, count, &made, &found, &failure) == 0 &&
           !all_started(made, found) && clock_monotonic_ms() < give_up_ms) {
        free_all(made, found);
        clock_sleep_ms(LOOK_MS + count);
    }
    for (unsigned i = 0; i < count && !failure; i++)
        if (!list[i].failure)
            take_news(&list[i], made, found);
    free_all(made, found);
    if (failure)
        log_warning(
            "cannot read the states of the sandboxes of a fork; the answer shows them as restoring",
            LOG_STR("checkpoint", copy->id), LOG_ERROR(failure));
}

/* --- the original --- */

static size_t length(const char *text)
{
    return text ? strlen(text) : 0;
}

/* The worker reads all forks at once, each with a copy of the texts of clients. */
static int check_size(const struct sandbox *original, unsigned count, struct error **err)
{
    size_t size = length(original->network) + length(original->metadata) + length(original->hooks) +
                  length(original->volume_mounts);
    size_t most = size ? SANDBOX_LIST_BYTES_MAX / size : count;
    if (count == 1 || count <= most)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "/count",
                           "Each fork copies %zu bytes of network policy, metadata, hooks and "
                           "volumes; one call can make at most %zu such forks.",
                           size, most);
}

/* A fork continues the original's memory. If the original's agent does not answer, those of the
 * forks would not either. Each fork would then be waited for until its time is over. */
static int check_original(struct worker *worker, const char *id, unsigned count, struct error **err)
{
    work_auto work = {.worker = worker};
    error_auto failure = NULL;
    bool knows;
    if (sandbox_get(worker->db, id, &work.sandbox, err) < 0 ||
        check_size(&work.sandbox, count, err) < 0)
        return -1;
    if (work.sandbox.state != SANDBOX_READY || /* refused by the next step */
        work_agent_continues(&work, AGENT_WAIT_MS, &knows, &failure) == 0 ||
        failure->code != ERR_RUNTIME_UNAVAILABLE)
        return 0;
    return error_set(err, ERR_AGENT_SILENT,
                     "The sandbox's agent, which a fork needs, did not answer within %d s.",
                     AGENT_WAIT_MS / 1000);
}

int sandbox_fork(struct worker *worker, const char *id, const struct sandbox_fork *request,
                 struct sandbox_forked *list, struct error **err)
{
    const struct checkpoint_create wanted = {
        .user_id = request->user_id,
        .name = "",
        .memory = true,
        .for_fork = true,
        .claim = request->claim,
        .claim_context = request->claim_context,
    };
    struct checkpoint copy;
    if (check_original(worker, id, request->count, err) < 0 ||
        sandbox_checkpoint(worker, id, &wanted, &copy, err) < 0)
        return -1;
    fault_point(FAULT_FORK_COPIED);
    int result = begin_all(worker, id, request, &copy, list, err);
    give_up_copy(worker, &copy);
    if (result == 0)
        wait_for_all(worker, &copy, list, request->count);
    fault_point(FAULT_FORK_FINISHED);
    return result;
}

int sandbox_fork_found(struct db *db, const struct checkpoint *copy, struct sandbox_forked **list,
                       unsigned *count, struct error **err)
{
    autofree struct sandbox *made = NULL;
    bool over = copy->state == CHECKPOINT_DELETING || copy->state == CHECKPOINT_DELETED;
    *count = 0;
    if (over && sandbox_list_of_copy(db, copy->id, SANDBOX_FORKS_MAX, &made, count, err) < 0)
        return -1;
    *list = xcalloc(*count + 1, sizeof **list);
    for (unsigned i = 0; i < *count; i++)
        (*list)[i].sandbox = made[i];
    if (over && all_started(made, *count))
        return 0;
    return error_set_field(
        err, ERR_REQUEST_IN_PROGRESS, "Idempotency-Key",
        "The first request with this Idempotency-Key has not ended yet; try again.");
}
