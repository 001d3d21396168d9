/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox_events.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/http.h"

#define REFUSED_EVERY_MS       60000
#define OUT_OF_MEMORY_EVERY_MS 60000
#define FAILURE_MAX            500 /* bytes; some messages have words of the sandbox's agent */

static json_t *time_json(int64_t at_ms)
{
    char at[CLOCK_ISO8601_SIZE];
    return json_string(clock_format_iso8601(at_ms, at));
}

static int tell(struct db *db, const struct sandbox *sandbox, enum event_kind kind, json_t *data,
                struct error **err)
{
    const struct event_note note = {kind, sandbox->team_id, sandbox->id, data};
    return event_add(db, &note, err);
}

int sandbox_tell_created(struct db *db, const struct sandbox *sandbox, struct error **err)
{
    json_t *data = json_pack("{s:s, s:s}", "template", sandbox->template_slug, "template_version",
                             sandbox->template_version_id);
    if (*sandbox->forked_from)
        json_object_set_new(data, "forked_from", json_string(sandbox->forked_from));
    return tell(db, sandbox, EVENT_SANDBOX_CREATED, data, err);
}

static json_t *running(const struct sandbox *sandbox)
{
    return json_pack("{s:o}", "deadline", time_json(sandbox->deadline_at_ms));
}

int sandbox_tell_updated(struct db *db, const struct sandbox *sandbox,
                         const struct sandbox_changed *changed, struct error **err)
{
    const struct {
        const char *name;
        bool is;
    } parts[] = {{"name", changed->name},         {"deadline", changed->deadline},
                 {"metadata", changed->metadata}, {"lifecycle", changed->lifecycle},
                 {"network", changed->network},   {"exposed_ports", changed->ports}};
    json_t *data = changed->deadline ? running(sandbox) : json_object();
    json_t *names = json_array();
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        if (parts[i].is)
            json_array_append_new(names, json_string(parts[i].name));
    bool any = json_array_size(names);
    json_object_set_new(data, "changed", names);
    if (any)
        return tell(db, sandbox, EVENT_SANDBOX_UPDATED, data, err);
    json_decref(data);
    return 0;
}

int sandbox_tell_failed(struct db *db, const struct sandbox *sandbox, const char *operation,
                        const struct error *failure, struct error **err)
{
    char message[FAILURE_MAX + 1];
    struct error cut = *failure;
    snprintf(message, sizeof message, "%.*s", (int)str_cut(failure->message, FAILURE_MAX),
             failure->message);
    cut.message = message;
    json_auto_t *answer = http_error_to_json(&cut);
    json_t *data =
        json_pack("{s:s, s:O, s:O}", "operation", operation, "error",
                  json_object_get(answer, "error"), "message", json_object_get(answer, "message"));
    return tell(db, sandbox, EVENT_SANDBOX_FAILED, data, err);
}

static json_t *moved_by(const struct sandbox *sandbox)
{
    return *sandbox->moved_by ? json_pack("{s:s}", "by", sandbox->moved_by) : NULL;
}

int sandbox_tell_move(struct db *db, const struct sandbox *sandbox, enum sandbox_event move,
                      bool memory, struct error **err)
{
    switch (move) {
    case SANDBOX_EVENT_CREATED:
        return tell(db, sandbox, EVENT_SANDBOX_STARTED, running(sandbox), err);
    case SANDBOX_EVENT_PAUSED:
        return tell(db, sandbox, memory ? EVENT_SANDBOX_PAUSED : EVENT_SANDBOX_STOPPED,
                    moved_by(sandbox), err);
    case SANDBOX_EVENT_RESUMED: {
        json_t *data = running(sandbox);
        json_object_set_new(data, "from", json_string(sandbox->resumed_from));
        json_object_set_new(data, "by", json_string(sandbox->moved_by));
        return tell(db, sandbox, EVENT_SANDBOX_RESUMED, data, err);
    }
    case SANDBOX_EVENT_DIED:
    case SANDBOX_EVENT_LOST:
        return tell(db, sandbox, EVENT_SANDBOX_DIED,
                    json_pack("{s:s}", "reason", sandbox->stop_reason), err);
    case SANDBOX_EVENT_DELETE:
        return tell(db, sandbox, EVENT_SANDBOX_DELETED, NULL, err);
    case SANDBOX_EVENT_PAUSE_FAILED: /* sandbox_tell_failed() */
    case SANDBOX_EVENT_RESUME_FAILED:
    case SANDBOX_EVENT_PAUSE: /* these have an event at their end */
    case SANDBOX_EVENT_RESUME:
    case SANDBOX_EVENT_ROLLBACK:
    case SANDBOX_EVENT_DESTROYED:
    case SANDBOX_EVENT_CHECKPOINT: /* the checkpoint has events of its own */
    case SANDBOX_EVENT_CHECKPOINTED:
    case SANDBOX_EVENT_CHECKPOINT_FAILED:
    case SANDBOX_EVENT_MOVE: /* clients only notice a slower resume */
    case SANDBOX_EVENT_MOVED:
    case SANDBOX_EVENT_MOVE_FAILED:
        break;
    }
    return 0;
}

void sandbox_tell_refused(struct db *db, const char *team_id, const struct error *failure)
{
    error_auto err = NULL;
    if (failure->code != ERR_SANDBOX_QUOTA_EXCEEDED &&
        failure->code != ERR_STOPPED_QUOTA_EXCEEDED &&
        failure->code != ERR_CHECKPOINT_QUOTA_EXCEEDED)
        return;
    const struct event_seldom refused = {
        .note = {EVENT_QUOTA_REFUSED, team_id, NULL,
                 json_pack("{s:s}", "message", failure->message)},
        .subject = team_id,
        .interval_ms = REFUSED_EVERY_MS,
    };
    if (event_add_seldom(db, &refused, &err) < 0)
        log_warning("cannot record the event of a request over the quota; the event is lost",
                    LOG_STR("team", team_id), LOG_ERROR(err));
}

int sandbox_tell_out_of_memory(struct db *db, const char *team_id, const char *sandbox_id,
                               uint64_t count, struct error **err)
{
    const struct event_seldom killed = {
        .note = {EVENT_SANDBOX_OUT_OF_MEMORY, team_id, sandbox_id,
                 json_pack("{s:I}", "count", (json_int_t)count)},
        .subject = sandbox_id,
        .interval_ms = OUT_OF_MEMORY_EVERY_MS,
    };
    return event_add_seldom(db, &killed, err);
}

int sandbox_tell_cleanup(struct db *db, const char *team_id, const char *sandbox_id,
                         const char *checkpoint_id, int64_t at_ms, struct error **err)
{
    json_t *data = json_pack("{s:o}", "cleanup_at", time_json(at_ms));
    if (checkpoint_id)
        json_object_set_new(data, "checkpoint_id", json_string(checkpoint_id));
    const struct event_note note = {EVENT_CLEANUP_WARNING, team_id, sandbox_id, data};
    return event_add(db, &note, err);
}
