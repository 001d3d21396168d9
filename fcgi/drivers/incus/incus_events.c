/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event stream: libcurl connects, the upgrade is a request and its answer, libwslay knows the
 * frames. (libcurl's own WebSocket calls are not in the builds of Debian 12.) */
#include "incus/incus_events.h"

#include <openssl/rand.h>
#include <poll.h>
#include <string.h>
#include <wslay/wslay.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/panic.h"
#include "incus/incus_internal.h"

#define CONNECT_MS 1500
#define UPGRADE_MS 5000
/* Incus itself sends a ping every ten seconds; ours, after a while of silence, finds a dead
 * connection sooner. */
#define PING_AFTER_MS 2000
#define DEAD_AFTER_MS 5000
#define CHUNK_MAX     16384
/* An event takes less than a kilobyte. */
#define MESSAGE_MAX (256 << 10)

struct incus_events {
    const struct incus *incus; /* borrowed */
    CURL *curl;
    curl_socket_t socket;
    char accept[INCUS_UPGRADE_ACCEPT_SIZE];
    char *request; /* of the upgrade; NULL when it is sent */
    size_t request_sent;
    struct buffer head;                     /* the answer's head and the bytes after it */
    wslay_event_context_ptr frames;         /* NULL until the server has agreed */
    int64_t opened_ms, heard_ms, pinged_ms; /* monotonic */
    struct incus_event *queue;              /* read and not yet handed out */
    size_t queued, handed_out, queue_size;
    size_t may_read;   /* bytes, in the call of libwslay that is under way */
    uint64_t received; /* bytes of the connection */
    bool sends_later;  /* the connection takes no more for now */
};

static int broken(struct incus_events *events, const char *why, struct error **err)
{
    return error_set(err, ERR_RUNTIME_UNAVAILABLE, "the event stream of Incus at %s failed: %s",
                     events->incus->options.url, why);
}

/* --- bytes --- */

/* Returns how many; 0: none for now; -1: the connection is over. */
static ssize_t receive(struct incus_events *events, void *data, size_t size)
{
    size_t got = 0;
    CURLcode result = curl_easy_recv(events->curl, data, size, &got);
    if (result == CURLE_AGAIN)
        return 0;
    if (result != CURLE_OK || got == 0)
        return -1;
    events->heard_ms = clock_monotonic_ms();
    events->received += got;
    return (ssize_t)got;
}

static ssize_t transmit(struct incus_events *events, const void *data, size_t size)
{
    size_t sent = 0;
    CURLcode result = curl_easy_send(events->curl, data, size, &sent);
    events->sends_later = result == CURLE_AGAIN;
    if (result == CURLE_AGAIN)
        return 0;
    return result == CURLE_OK ? (ssize_t)sent : -1;
}

/* --- frames --- */

static ssize_t on_receive(wslay_event_context_ptr frames, uint8_t *data, size_t size, int flags,
                          void *context)
{
    struct incus_events *events = context;
    ssize_t got = 0;
    (void)flags;
    if (events->head.size) {
        got = (ssize_t)(size < events->head.size ? size : events->head.size);
        memcpy(data, events->head.data, (size_t)got);
        buffer_consume(&events->head, (size_t)got);
        return got;
    }
    if (events->may_read)
        got = receive(events, data, size < events->may_read ? size : events->may_read);
    if (got <= 0)
        wslay_event_set_error(frames, got ? WSLAY_ERR_CALLBACK_FAILURE : WSLAY_ERR_WOULDBLOCK);
    else
        events->may_read -= (size_t)got;
    return got > 0 ? got : -1;
}

static ssize_t on_send(wslay_event_context_ptr frames, const uint8_t *data, size_t size, int flags,
                       void *context)
{
    (void)flags;
    ssize_t sent = transmit(context, data, size);
    if (sent <= 0)
        wslay_event_set_error(frames, sent ? WSLAY_ERR_CALLBACK_FAILURE : WSLAY_ERR_WOULDBLOCK);
    return sent > 0 ? sent : -1;
}

static int on_mask(wslay_event_context_ptr frames, uint8_t *mask, size_t size, void *context)
{
    (void)frames, (void)context;
    return RAND_bytes(mask, (int)size) == 1 ? 0 : -1;
}

static void on_message(wslay_event_context_ptr frames,
                       const struct wslay_event_on_msg_recv_arg *message, void *context)
{
    struct incus_events *events = context;
    struct incus_event event;
    (void)frames;
    if (message->opcode != WSLAY_TEXT_FRAME)
        return;
    incus_event_read((const char *)message->msg, message->msg_length, &event);
    if (event.kind == INCUS_EVENT_OTHER)
        return;
    if (events->queued == events->queue_size) {
        events->queue_size = events->queue_size ? events->queue_size * 2 : 16;
        events->queue = xreallocarray(events->queue, events->queue_size, sizeof *events->queue);
    }
    events->queue[events->queued++] = event;
}

static void start_frames(struct incus_events *events)
{
    static const struct wslay_event_callbacks callbacks = {
        .recv_callback = on_receive,
        .send_callback = on_send,
        .genmask_callback = on_mask,
        .on_msg_recv_callback = on_message,
    };
    if (wslay_event_context_client_init(&events->frames, &callbacks, events))
        panic("out of memory");
    wslay_event_config_set_max_recv_msg_length(events->frames, MESSAGE_MAX);
}

/* Read at most one chunk, and answer pings. */
static int exchange_frames(struct incus_events *events, struct error **err)
{
    events->may_read = CHUNK_MAX;
    if (wslay_event_recv(events->frames) || wslay_event_send(events->frames))
        return broken(events, "the connection broke", err);
    if (!wslay_event_get_read_enabled(events->frames))
        return broken(events,
                      wslay_event_get_close_received(events->frames)
                          ? "Incus closed the stream"
                          : "Incus sent an invalid frame",
                      err);
    return 0;
}

/* --- the upgrade --- */

static void write_request(struct incus_events *events, const struct incus *incus)
{
    char key[INCUS_UPGRADE_KEY_SIZE];
    char *project = curl_easy_escape(events->curl, incus->options.project, 0);
    const char *authority = strstr(incus->base, "://") + 3;
    if (!project)
        panic("out of memory");
    incus_upgrade_key(key);
    incus_upgrade_accept(key, events->accept);
    events->request = xasprintf("GET /1.0/events?type=lifecycle&project=%s HTTP/1.1\r\n"
                                "Host: %.*s\r\n"
                                "Connection: Upgrade\r\n"
                                "Upgrade: websocket\r\n"
                                "Sec-WebSocket-Version: 13\r\n"
                                "Sec-WebSocket-Key: %s\r\n\r\n",
                                project, (int)strcspn(authority, "/"), authority, key);
    curl_free(project);
}

static int send_request(struct incus_events *events, struct error **err)
{
    size_t size = strlen(events->request);
    ssize_t sent =
        transmit(events, events->request + events->request_sent, size - events->request_sent);
    if (sent < 0)
        return broken(events, "cannot send the request", err);
    events->request_sent += (size_t)sent;
    if (events->request_sent == size) {
        free(events->request);
        events->request = NULL;
    }
    return 0;
}

static int read_answer(struct incus_events *events, struct error **err)
{
    char chunk[1024];
    ssize_t got = receive(events, chunk, sizeof chunk);
    if (got <= 0)
        return got ? broken(events, "Incus does not answer the request", err) : 0;
    buffer_append(&events->head, chunk, (size_t)got);
    int length = incus_upgrade_read(events->head.data, events->head.size, events->accept);
    if (length < 0)
        return broken(events, "Incus refused the request", err);
    if (length > 0) {
        buffer_consume(&events->head, (size_t)length);
        start_frames(events);
    }
    return 0;
}

/* --- opening --- */

int incus_events_open(struct incus *incus, struct incus_events **out, struct error **err)
{
    struct incus_events *events = xcalloc(1, sizeof *events);
    *events = (struct incus_events){
        .incus = incus,
        .curl = curl_easy_init(),
        .head = BUFFER_INIT(INCUS_UPGRADE_HEAD_MAX + 1024),
    };
    if (!events->curl)
        panic("curl_easy_init() failed");
    incus_set_connection(incus, events->curl);
    curl_easy_setopt(events->curl, CURLOPT_URL, incus->base);
    curl_easy_setopt(events->curl, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(events->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    CURLcode result = curl_easy_perform(events->curl);
    if (result == CURLE_OK)
        result = curl_easy_getinfo(events->curl, CURLINFO_ACTIVESOCKET, &events->socket);
    if (result != CURLE_OK) {
        broken(events, curl_easy_strerror(result), err);
        incus_events_close(events);
        return -1;
    }
    write_request(events, incus);
    events->opened_ms = events->heard_ms = clock_monotonic_ms();
    *out = events;
    return 0;
}

void incus_events_close(struct incus_events *events)
{
    if (!events)
        return;
    if (events->frames)
        wslay_event_context_free(events->frames);
    curl_easy_cleanup(events->curl);
    buffer_deinit(&events->head);
    free(events->request);
    free(events->queue);
    free(events);
}

/* --- waiting --- */

/* Silence is broken by a ping, which every WebSocket answers; more silence is the end. */
static int mind_silence(struct incus_events *events, struct error **err)
{
    static const struct wslay_event_msg ping = {.opcode = WSLAY_PING};
    int64_t now_ms = clock_monotonic_ms();
    if (!events->frames)
        return now_ms - events->opened_ms < UPGRADE_MS
                   ? 0
                   : broken(events, "Incus does not answer the request", err);
    if (now_ms - events->heard_ms >= DEAD_AFTER_MS)
        return broken(events, "Incus stopped answering pings", err);
    if (now_ms - events->heard_ms >= PING_AFTER_MS && now_ms - events->pinged_ms >= PING_AFTER_MS) {
        events->pinged_ms = now_ms;
        wslay_event_queue_msg(events->frames, &ping);
    }
    return 0;
}

/* Do the next steps that do not wait. */
static int go_on(struct incus_events *events, struct error **err)
{
    if (events->frames)
        return exchange_frames(events, err);
    if (events->request && send_request(events, err) < 0)
        return -1;
    return read_answer(events, err);
}

/* Returns -1 when a signal came. */
static int wait_for_bytes(const struct incus_events *events, int64_t wait_ms)
{
    struct pollfd ready = {
        .fd = events->socket,
        .events = (short)(events->sends_later ? POLLIN | POLLOUT : POLLIN),
    };
    return poll(&ready, 1, (int)(wait_ms < PING_AFTER_MS ? wait_ms : PING_AFTER_MS));
}

int incus_events_next(struct incus_events *events, unsigned wait_ms, enum incus_heard *heard,
                      struct incus_event *event, struct error **err)
{
    int64_t until_ms = clock_monotonic_ms() + wait_ms;
    *heard = INCUS_HEARD_NOTHING;
    for (;;) {
        uint64_t received = events->received;
        bool agreed = events->frames;
        if (events->handed_out < events->queued) {
            *event = events->queue[events->handed_out++];
            *heard = INCUS_HEARD_EVENT;
            return 0;
        }
        events->queued = events->handed_out = 0;
        if (mind_silence(events, err) < 0 || go_on(events, err) < 0) {
            if (!events->queued)
                return -1;
            error_clear(err); /* the earlier events count; the next read meets the end again */
        }
        if (!agreed && events->frames) {
            *heard = INCUS_HEARD_BEGIN;
            return 0;
        }
        /* libcurl may hold more that was decrypted already, of which the socket knows nothing. */
        if (events->received != received || events->queued)
            continue;
        int64_t left_ms = until_ms - clock_monotonic_ms();
        if (left_ms <= 0 || wait_for_bytes(events, left_ms) < 0)
            return 0;
    }
}
