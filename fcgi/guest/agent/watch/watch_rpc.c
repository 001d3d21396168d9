/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/watch/watch_rpc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <sodium.h>

#include "agent/agent.h"
#include "agent/common/paths.h"
#include "agent/common/proto.h"
#include "agent/filesystem/fs_messages.h"
#include "agent/framework/rpc_answer.h"
#include "agent/framework/stream.h"
#include "agent/watch/watch.h"
#include "base/clock.h"
#include "base/mem.h"

/* Most bytes that are kept for a reader that does not read. */
#define STREAM_BYTES_MAX (256 * 1024)
#define POLLED_BYTES_MAX (1024 * 1024)

#define POLLED_MAX       64
/* A polled watcher without a poll for so long is removed when there is no room. */
#define POLLED_STALE_MS (10 * 60 * 1000)

#define ID_BYTES        12

static int open_watcher(struct request *request, const json_t *message,
                        const struct watch_listener *listener, void *owner,
                        struct watcher **watcher, struct rpc_error *error)
{
    user_auto user = {.name = NULL};
    autofree char *path = NULL;
    struct watch_options options;
    const char *text;
    if (rpc_user(request, &user, error) < 0 || proto_string(message, "path", &text, error) < 0 ||
        paths_resolve(text, &user, &path, error) < 0 ||
        proto_bool(message, "recursive", false, &options.recursive, error) < 0 ||
        proto_bool(message, "includeEntry", false, &options.with_entry, error) < 0 ||
        proto_bool(message, "allowNetworkMounts", false, &options.allow_network, error) < 0)
        return -1;
    return watcher_new(request->agent, path, &options, listener, owner, watcher, error);
}

static void set_lost(struct rpc_error *error)
{
    rpc_error_set(error, RPC_RESOURCE_EXHAUSTED,
                  "some changes were lost, because there were too many: list the directory again");
}

static void set_gone(struct rpc_error *error)
{
    rpc_error_set(error, RPC_NOT_FOUND,
                  "the watched directory was removed or moved: watch its path again");
}

/* --- as a stream --- */

static void on_stream_ready(struct watcher *watcher, const struct rpc_error *error)
{
    struct stream *stream = watcher->owner;
    if (error)
        stream_end(stream, error);
    else
        stream_send(stream, json_pack("{s:{}}", "start"));
}

static void on_stream_lost(struct watcher *watcher)
{
    struct rpc_error error;
    set_lost(&error);
    stream_end(watcher->owner, &error);
}

static void on_stream_gone(struct watcher *watcher)
{
    struct rpc_error error;
    set_gone(&error);
    stream_end(watcher->owner, &error);
}

static void on_stream_event(struct watcher *watcher, json_t *event)
{
    struct stream *stream = watcher->owner;
    if (stream->pending.size < STREAM_BYTES_MAX) {
        stream_send(stream, json_pack("{s:o}", "filesystem", event));
        return;
    }
    json_decref(event);
    on_stream_lost(watcher);
}

static void on_stream_drained(struct stream *stream)
{
    (void)stream; /* changes are not held back, only dropped */
}

static void on_stream_closed(struct stream *stream)
{
    if (stream->owner)
        watcher_free(stream->owner);
}

static const struct watch_listener stream_listener = {
    .ready = on_stream_ready,
    .event = on_stream_event,
    .lost = on_stream_lost,
    .gone = on_stream_gone,
};

static const struct stream_events stream_events = {
    .keepalive = "{\"keepalive\":{}}",
    .drained = on_stream_drained,
    .deadline = on_stream_drained,
    .closed = on_stream_closed,
};

static int watch_dir(struct request *request, const json_t *message, struct rpc_error *error)
{
    struct watcher *watcher;
    struct stream *stream;
    if (open_watcher(request, message, &stream_listener, NULL, &watcher, error) < 0)
        return -1;
    if (stream_open(request, &stream_events, watcher, &stream, error) < 0) {
        watcher_free(watcher);
        return -1;
    }
    watcher->owner = stream;
    return 0;
}

/* --- polled --- */

struct polled {
    LIST_ENTRY(polled) link;
    struct watcher *watcher;
    struct request *request; /* waits for its making; NULL afterwards */
    char id[2 * ID_BYTES + 1];
    struct buffer events; /* messages with commas between them */
    bool lost, gone;
    int64_t asked_at_ms; /* monotonic */
};

static LIST_HEAD(, polled) all_polled = LIST_HEAD_INITIALIZER(all_polled);
static size_t polled_count;

static void polled_free(struct polled *polled)
{
    LIST_REMOVE(polled, link);
    polled_count--;
    watcher_free(polled->watcher);
    buffer_deinit(&polled->events);
    free(polled);
}

static void make_room(void)
{
    struct polled *polled, *stalest = NULL;
    if (polled_count < POLLED_MAX)
        return;
    LIST_FOREACH(polled, &all_polled, link)
    if (!polled->request && (!stalest || polled->asked_at_ms < stalest->asked_at_ms))
        stalest = polled;
    if (stalest && clock_monotonic_ms() - stalest->asked_at_ms > POLLED_STALE_MS)
        polled_free(stalest);
}

static void on_polled_ready(struct watcher *watcher, const struct rpc_error *error)
{
    struct polled *polled = watcher->owner;
    if (error) {
        request_reply_error(polled->request, error); /* its end frees the watcher */
        return;
    }
    struct request *request = steal_pointer(&polled->request);
    request->state = NULL;
    rpc_reply(request, json_pack("{s:s}", "watcherId", polled->id));
}

static void on_polled_event(struct watcher *watcher, json_t *event)
{
    struct polled *polled = watcher->owner;
    autofree char *text = json_dumps(event, JSON_COMPACT);
    json_decref(event);
    if (polled->lost)
        return;
    if (polled->events.size)
        buffer_append_char(&polled->events, ',');
    buffer_append_string(&polled->events, text);
    if (buffer_overflowed(&polled->events))
        watcher->listener->lost(watcher);
}

static void on_polled_lost(struct watcher *watcher)
{
    struct polled *polled = watcher->owner;
    polled->lost = true;
    buffer_deinit(&polled->events);
}

static void on_polled_gone(struct watcher *watcher)
{
    struct polled *polled = watcher->owner;
    polled->gone = true;
}

static const struct watch_listener polled_listener = {
    .ready = on_polled_ready,
    .event = on_polled_event,
    .lost = on_polled_lost,
    .gone = on_polled_gone,
};

static void on_creator_gone(struct request *request)
{
    if (request->state)
        polled_free(request->state);
    request->state = NULL;
    httpd_resume(&request->http);
}

static int create_watcher(struct request *request, const json_t *message, json_t **answer,
                          struct rpc_error *error)
{
    (void)answer;
    unsigned char id[ID_BYTES];
    make_room();
    if (polled_count >= POLLED_MAX)
        return rpc_error_set(error, RPC_RESOURCE_EXHAUSTED, "a client can have at most %d watchers",
                             POLLED_MAX);
    struct polled *polled = xcalloc(1, sizeof *polled);
    if (open_watcher(request, message, &polled_listener, polled, &polled->watcher, error) < 0) {
        free(polled);
        return -1;
    }
    randombytes_buf(id, sizeof id);
    sodium_bin2hex(polled->id, sizeof polled->id, id, sizeof id);
    buffer_init(&polled->events, POLLED_BYTES_MAX);
    polled->asked_at_ms = clock_monotonic_ms();
    polled->request = request;
    LIST_INSERT_HEAD(&all_polled, polled, link);
    polled_count++;
    request->state = polled;
    httpd_suspend(&request->http);
    request_watch_peer(request, on_creator_gone);
    return 0;
}

static void create_watcher_closed(struct request *request)
{
    if (request->state)
        polled_free(request->state);
}

static int find_polled(const json_t *message, struct polled **found, struct rpc_error *error)
{
    const char *id;
    struct polled *polled;
    if (proto_string(message, "watcherId", &id, error) < 0)
        return -1;
    LIST_FOREACH(polled, &all_polled, link)
    if (!strcmp(polled->id, id) && !polled->request) {
        *found = polled;
        return 0;
    }
    return rpc_error_set(error, RPC_NOT_FOUND, "there is no watcher with id '%s'", id);
}

static int get_events(struct request *request, const json_t *message, json_t **answer,
                      struct rpc_error *error)
{
    (void)request;
    struct polled *polled;
    if (find_polled(message, &polled, error) < 0)
        return -1;
    polled->asked_at_ms = clock_monotonic_ms();
    if (polled->lost) {
        /* Until the whole tree is watched again, changes are still lost. */
        polled->lost = polled->watcher->unscanned;
        set_lost(error);
        return -1;
    }
    if (polled->gone && !polled->events.size) {
        set_gone(error);
        return -1;
    }
    autofree char *text = xasprintf("{\"events\":[%s]}", buffer_string(&polled->events));
    buffer_deinit(&polled->events);
    *answer = json_loads(text, 0, NULL);
    return 0;
}

static int remove_watcher(struct request *request, const json_t *message, json_t **answer,
                          struct rpc_error *error)
{
    (void)request;
    struct polled *polled;
    if (find_polled(message, &polled, error) < 0)
        return -1;
    polled_free(polled);
    *answer = json_object();
    return 0;
}

const struct rpc watch_rpc_watch_dir = {
    .stream = watch_dir, .request = &fs_message_watch, .answer = &fs_message_watched};
const struct rpc watch_rpc_create_watcher = {.unary = create_watcher,
                                             .closed = create_watcher_closed,
                                             .request = &fs_message_watch,
                                             .answer = &fs_message_watcher};
const struct rpc watch_rpc_get_events = {
    .unary = get_events, .request = &fs_message_watcher, .answer = &fs_message_events};
const struct rpc watch_rpc_remove_watcher = {
    .unary = remove_watcher, .request = &fs_message_watcher, .answer = &fs_message_empty};
