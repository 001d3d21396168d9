/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "events/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define HEAD_WAIT_MS 10000
#define BEAT_MS      15000 /* less than the read timeouts of nginx and most proxies */
#define END_WAIT_MS  10000 /* for a client to read the rest of its answer */

static void follower_free(struct follower *follower)
{
    struct server *server = follower->server;
    loop_timer_disarm(&server->loop, &follower->timer);
    loop_close(&server->loop, &follower->source);
    buffer_deinit(&follower->in);
    buffer_deinit(&follower->out);
    TAILQ_REMOVE(&server->followers, follower, entry);
    server->count--;
    free(follower);
}

bool follower_is_full(const struct follower *follower)
{
    return follower->out.size >= OUT_HIGH;
}

/* --- writing --- */

/* Send from the buffer until the socket is full. Returns false when the follower was freed. */
static bool flush(struct follower *follower)
{
    struct buffer *out = &follower->out;
    while (out->size) {
        ssize_t size = send(follower->source.fd, out->data, out->size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (size < 0) {
            follower_free(follower);
            return false;
        }
        buffer_consume(out, (size_t)size);
    }
    if (!out->size && follower->ending) {
        follower_free(follower);
        return false;
    }
    loop_change(&follower->server->loop, &follower->source, EPOLLIN | (out->size ? EPOLLOUT : 0u));
    return true;
}

static void on_end_waited(struct loop_timer *timer)
{
    follower_free(container_of(timer, struct follower, timer));
}

/* Close the connection after the client has read the buffer, or after END_WAIT_MS. */
static void finish(struct follower *follower)
{
    follower->ending = true;
    loop_timer_arm(&follower->server->loop, &follower->timer, clock_monotonic_ms() + END_WAIT_MS,
                   on_end_waited);
    flush(follower);
}

static void answer(struct follower *follower, const char *status, const char *headers,
                   const char *body)
{
    buffer_printf(&follower->out,
                  "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                  "Connection: close\r\n%s\r\n%s",
                  status, strlen(body), headers, body);
    finish(follower);
}

static void answer_error(struct follower *follower, const char *status, const char *headers,
                         const char *code, const char *message)
{
    autofree char *body = xasprintf("{\"error\":\"%s\",\"message\":\"%s\",\"request_id\":\"%s\"}",
                                    code, message, follower->wanted.request_id);
    answer(follower, status, headers, body);
}

static void answer_page(struct follower *follower, json_t *events)
{
    char id[EVENT_ID_SIZE];
    json_auto_t *page =
        json_pack("{s:o, s:s}", "events", events, "last_id", event_id_format(follower->cursor, id));
    autofree char *body = json_dumps(page, JSON_COMPACT);
    answer(follower, "200 OK", "", body ? body : "{}");
}

void follower_end(struct follower *follower)
{
    if (follower->following && !follower->ending && !follower->wanted.stream)
        answer_page(follower, json_array());
    else
        finish(follower);
}

/* --- signs of life --- */

static void on_time(struct loop_timer *timer);

static void arm(struct follower *follower)
{
    int64_t at_ms = clock_monotonic_ms() + BEAT_MS;
    if (!follower->wanted.stream || follower->end_at_ms < at_ms)
        at_ms = follower->end_at_ms;
    loop_timer_arm(&follower->server->loop, &follower->timer, at_ms, on_time);
}

static void on_time(struct loop_timer *timer)
{
    struct follower *follower = container_of(timer, struct follower, timer);
    if (clock_monotonic_ms() >= follower->end_at_ms) {
        follower_end(follower);
        return;
    }
    if (!follower->out.size)
        buffer_append_string(&follower->out, ":\n\n");
    arm(follower);
    flush(follower);
}

/* --- events --- */

static const char *text_of(struct told *told)
{
    if (!told->text) {
        json_auto_t *json = event_to_json(told->event);
        told->text = json_dumps(json, JSON_COMPACT);
    }
    return told->text ? told->text : "{}";
}

static void stream(struct follower *follower, struct told *list, unsigned count, uint64_t end)
{
    unsigned i = 0;
    for (; i < count && !follower_is_full(follower); i++) {
        const struct event *event = list[i].event;
        char id[EVENT_ID_SIZE];
        if (event->id <= follower->cursor)
            continue;
        follower->cursor = event->id;
        if (event_matches(event, &follower->wanted.filter))
            buffer_printf(&follower->out, "id: %s\nevent: %s\ndata: %s\n\n",
                          event_id_format(event->id, id), event_kind_names[event->kind],
                          text_of(&list[i]));
    }
    if (i == count) /* otherwise server.c reads the rest when there is room */
        follower->cursor = end;
    flush(follower);
}

static void collect(struct follower *follower, struct told *list, unsigned count, uint64_t end)
{
    json_t *events = json_array();
    for (unsigned i = 0; i < count && json_array_size(events) < follower->wanted.limit; i++) {
        const struct event *event = list[i].event;
        if (event->id <= follower->cursor)
            continue;
        follower->cursor = event->id;
        if (event_matches(event, &follower->wanted.filter))
            json_array_append_new(events, event_to_json(event));
    }
    if (json_array_size(events) < follower->wanted.limit)
        follower->cursor = end;
    if (json_array_size(events))
        answer_page(follower, events);
    else
        json_decref(events);
}

void follower_take(struct follower *follower, struct told *list, unsigned count, uint64_t end)
{
    if (follower->wanted.stream)
        stream(follower, list, count, end);
    else
        collect(follower, list, count, end);
}

/* --- the request --- */

static void begin(struct follower *follower)
{
    struct server *server = follower->server;
    const struct wanted *wanted = &follower->wanted;
    if (!server_admits(server, wanted)) {
        answer_error(follower, "429 Too Many Requests", "Retry-After: 5\r\n", "rate_limited",
                     "this team or user has too many requests that wait for events; end one first");
        return;
    }
    follower->following = true;
    follower->cursor = wanted->after;
    follower->end_at_ms = clock_monotonic_ms() + (int64_t)wanted->wait_ms;
    if (wanted->stream)
        buffer_append_string(&follower->out,
                             "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                             "Connection: close\r\n\r\nretry: 2000\n\n");
    arm(follower);
    server_follow(server);
    flush(follower);
}

static void read_request(struct follower *follower)
{
    error_auto err = NULL;
    const char *text = buffer_string(&follower->in);
    if (buffer_overflowed(&follower->in)) {
        follower_free(follower);
        return;
    }
    if (!strstr(text, "\r\n\r\n"))
        return;
    if (wanted_read(text, &follower->wanted, &err) == 0) {
        buffer_deinit(&follower->in);
        begin(follower);
        return;
    }
    log_error("cannot read a request for events; answering with an error", LOG_ERROR(err));
    answer_error(follower, "500 Internal Server Error", "", "internal",
                 "the service failed on this request; give the operator the request id, with which "
                 "its log has the reason");
}

static void on_ready(struct loop_source *source, uint32_t events)
{
    struct follower *follower = container_of(source, struct follower, source);
    char bytes[4096];
    if (events & EPOLLOUT && !flush(follower))
        return;
    if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        return;
    ssize_t size = recv(source->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0) {
        follower_free(follower);
        return;
    }
    if (follower->following || follower->ending)
        return; /* the client has sent its whole request */
    buffer_append(&follower->in, bytes, (size_t)size);
    read_request(follower);
}

void follower_new(struct server *server, int fd)
{
    struct follower *follower = xcalloc(1, sizeof *follower);
    follower->server = server;
    buffer_init(&follower->in, HEAD_MAX);
    buffer_init(&follower->out, OUT_MAX);
    TAILQ_INSERT_TAIL(&server->followers, follower, entry);
    server->count++;
    if (loop_add(&server->loop, &follower->source, fd, EPOLLIN, on_ready) < 0) {
        close(fd);
        follower_free(follower);
        return;
    }
    loop_timer_arm(&server->loop, &follower->timer, clock_monotonic_ms() + HEAD_WAIT_MS,
                   on_end_waited);
}
