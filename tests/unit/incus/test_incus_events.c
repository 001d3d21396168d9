/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event stream against a server of a few lines on a unix socket, in a process of its own. */
#include "unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "incus/incus_events.h"

#define MESSAGE_MAX ((size_t)256 << 10)

#define TEXT(action) \
    "{\"type\":\"lifecycle\",\"metadata\":{\"action\":\"instance-" action "\",\"name\":\"a\"}}"

/* --- the server --- */

/* What it does once it was asked; *request is all that it was asked with. */
typedef void behaviour(int client, const char *request);

struct server {
    pid_t pid;
    int listener;
    char directory[32];
    char path[48];
    struct incus *incus;
    struct incus_events *events;
};

static void say(int client, const void *data, size_t size)
{
    const char *bytes = data;
    while (size > 0) {
        ssize_t sent = send(client, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0)
            _exit(1);
        bytes += sent;
        size -= (size_t)sent;
    }
}

static void agree(int client, const char *request)
{
    static const char name[] = "Sec-WebSocket-Key: ";
    char key[INCUS_UPGRADE_KEY_SIZE] = "", accept[INCUS_UPGRADE_ACCEPT_SIZE];
    const char *found = strstr(request, name);
    if (!found)
        _exit(1);
    memcpy(key, found + sizeof name - 1, sizeof key - 1);
    incus_upgrade_accept(key, accept);
    autofree char *head = xasprintf("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                                    "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
                                    accept);
    say(client, head, strlen(head));
}

/* A frame from the server carries no mask (RFC 6455, section 5.1). first: final bit and opcode. */
static void say_frame(int client, unsigned char first, const char *data, size_t size)
{
    buffer_auto frame = BUFFER_INIT(2 * MESSAGE_MAX);
    buffer_append_char(&frame, (char)first);
    if (size < 126) {
        buffer_append_char(&frame, (char)size);
    } else {
        buffer_append_char(&frame, 127);
        for (int shift = 56; shift >= 0; shift -= 8)
            buffer_append_char(&frame, (char)((uint64_t)size >> shift & 255));
    }
    buffer_append(&frame, data, size);
    say(client, frame.data, frame.size);
}

static void say_text(int client, const char *text)
{
    say_frame(client, 0x81, text, strlen(text));
}

/* Hold the connection until the other side closes it. */
static void hold(int client)
{
    char byte;
    while (recv(client, &byte, 1, 0) > 0)
        continue;
}

static void serve(int listener, behaviour *behave)
{
    char request[2048] = "";
    size_t size = 0;
    int client = accept(listener, NULL, NULL);
    while (!strstr(request, "\r\n\r\n")) {
        ssize_t got = recv(client, request + size, sizeof request - 1 - size, 0);
        if (got <= 0)
            _exit(1);
        size += (size_t)got;
        request[size] = '\0';
    }
    behave(client, request);
    hold(client);
    _exit(0);
}

static void start(struct server *server, behaviour *behave)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    error_auto err = NULL;
    *server = (struct server){.directory = "/tmp/incus-events-XXXXXX"};
    assert_non_null(mkdtemp(server->directory));
    snprintf(server->path, sizeof server->path, "%s/socket", server->directory);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", server->path);
    server->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server->listener, 4), 0);
    server->pid = fork();
    if (server->pid == 0)
        serve(server->listener, behave);
    autofree char *url = xasprintf("unix://%s", server->path);
    struct incus_options options = {.url = url, .project = "a project"};
    assert_int_equal(incus_open(&options, &server->incus, &err), 0);
    assert_int_equal(incus_events_open(server->incus, &server->events, &err), 0);
}

static void stop(struct server *server)
{
    incus_events_close(server->events);
    incus_close(server->incus);
    kill(server->pid, SIGTERM);
    waitpid(server->pid, NULL, 0);
    close(server->listener);
    unlink(server->path);
    rmdir(server->directory);
}

static void assert_hears(struct server *server, enum incus_heard wanted, enum incus_event_kind kind)
{
    error_auto err = NULL;
    enum incus_heard heard;
    struct incus_event event = {0};
    if (incus_events_next(server->events, 10000, &heard, &event, &err))
        fail_msg("%s", err->message);
    assert_int_equal(heard, wanted);
    if (heard == INCUS_HEARD_EVENT)
        assert_int_equal(event.kind, kind);
}

static void assert_breaks(struct server *server)
{
    error_auto err = NULL;
    enum incus_heard heard;
    struct incus_event event;
    assert_int_equal(incus_events_next(server->events, 15000, &heard, &event, &err), -1);
    assert_int_equal(err->code, ERR_RUNTIME_UNAVAILABLE);
}

/* --- what it does --- */

static void tells_of_two(int client, const char *request)
{
    if (!strstr(request, "GET /1.0/events?type=lifecycle&project=a%20project HTTP/1.1\r\n"))
        _exit(1);
    agree(client, request);
    say_text(client, TEXT("created"));
    say_text(client, TEXT("stopped"));
    say_text(client, "no event");
    say_frame(client, 0x82, TEXT("stopped"), strlen(TEXT("stopped"))); /* not a text */
    say_text(client, TEXT("restarted"));
}

TEST(hears_what_matters)
{
    struct server server;
    start(&server, tells_of_two);
    assert_hears(&server, INCUS_HEARD_BEGIN, INCUS_EVENT_OTHER);
    assert_hears(&server, INCUS_HEARD_EVENT, INCUS_EVENT_ENDED);
    assert_hears(&server, INCUS_HEARD_EVENT, INCUS_EVENT_RESTARTED);
    stop(&server);
}

/* Head and first events in one piece, an event in two fragments, a ping between them whose answer
 * is waited for before the second. */
static void tells_in_pieces(int client, const char *request)
{
    static const char text[] = TEXT("shutdown");
    unsigned char pong[2 + 4 + 1];
    agree(client, request);
    say_frame(client, 0x01, text, 10);
    say_frame(client, 0x89, "p", 1);
    if (recv(client, pong, sizeof pong, MSG_WAITALL) != sizeof pong || pong[0] != 0x8a ||
        pong[1] != (0x80 | 1) || (pong[6] ^ pong[2]) != 'p')
        _exit(1);
    for (size_t i = 10; i < sizeof text - 2; i++)
        say_frame(client, 0x00, &text[i], 1);
    say_frame(client, 0x80, &text[sizeof text - 2], 1);
}

TEST(puts_fragments_together_and_answers_pings)
{
    struct server server;
    start(&server, tells_in_pieces);
    assert_hears(&server, INCUS_HEARD_BEGIN, INCUS_EVENT_OTHER);
    assert_hears(&server, INCUS_HEARD_EVENT, INCUS_EVENT_ENDED);
    stop(&server);
}

static void tells_too_much(int client, const char *request)
{
    autofree char *text = xmalloc(MESSAGE_MAX + 1);
    memset(text, ' ', MESSAGE_MAX + 1);
    agree(client, request);
    /* As much as is taken, with an event at its end; then one byte more. */
    memcpy(text + MESSAGE_MAX - strlen(TEXT("stopped")), TEXT("stopped"), strlen(TEXT("stopped")));
    say_frame(client, 0x81, text, MESSAGE_MAX);
    say_frame(client, 0x81, text, MESSAGE_MAX + 1);
}

TEST(takes_no_more_than_it_should)
{
    struct server server;
    start(&server, tells_too_much);
    assert_hears(&server, INCUS_HEARD_BEGIN, INCUS_EVENT_OTHER);
    assert_hears(&server, INCUS_HEARD_EVENT, INCUS_EVENT_ENDED);
    assert_breaks(&server);
    stop(&server);
}

/* Two thousand events in one write: more than one chunk. */
static void tells_very_much(int client, const char *request)
{
    buffer_auto all = BUFFER_INIT((size_t)1 << 20);
    agree(client, request);
    for (int i = 0; i < 2000; i++) {
        buffer_append(&all, "\x81", 1);
        buffer_append_char(&all, (char)strlen(TEXT("deleted")));
        buffer_append_string(&all, TEXT("deleted"));
    }
    say(client, all.data, all.size);
}

TEST(loses_none)
{
    struct server server;
    start(&server, tells_very_much);
    assert_hears(&server, INCUS_HEARD_BEGIN, INCUS_EVENT_OTHER);
    for (int i = 0; i < 2000; i++)
        assert_hears(&server, INCUS_HEARD_EVENT, INCUS_EVENT_ENDED);
    stop(&server);
}

static void refuses(int client, const char *request)
{
    static const char answer[] = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";
    (void)request;
    say(client, answer, sizeof answer - 1);
}

static void agrees_to_another(int client, const char *request)
{
    (void)request;
    agree(client, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");
}

static void hangs_up(int client, const char *request)
{
    agree(client, request);
    shutdown(client, SHUT_RDWR);
}

static void says_goodbye(int client, const char *request)
{
    agree(client, request);
    say_frame(client, 0x88, "\x03\xe8", 2);
}

static void speaks_nonsense(int client, const char *request)
{
    agree(client, request);
    say(client, "\xff\xff\xff\xff\xff\xff", 6);
}

static void masks_its_frames(int client, const char *request)
{
    agree(client, request);
    say(client, "\x81\x80mask", 6);
}

static void agrees_and_is_silent(int client, const char *request)
{
    agree(client, request);
    pause();
}

static void is_silent(int client, const char *request)
{
    (void)client, (void)request;
    pause();
}

TEST(breaks_off_with_those)
{
    static behaviour *const early[] = {refuses, agrees_to_another, is_silent};
    static behaviour *const late[] = {hangs_up, says_goodbye, speaks_nonsense, masks_its_frames,
                                      agrees_and_is_silent};
    struct server server;
    for (size_t i = 0; i < ARRAY_SIZE(early); i++) {
        start(&server, early[i]);
        assert_breaks(&server);
        stop(&server);
    }
    for (size_t i = 0; i < ARRAY_SIZE(late); i++) {
        start(&server, late[i]);
        assert_hears(&server, INCUS_HEARD_BEGIN, INCUS_EVENT_OTHER);
        assert_breaks(&server);
        stop(&server);
    }
}

/* One that has nothing to tell answers our pings, and that is life enough. */
static void answers_pings(int client, const char *request)
{
    unsigned char ping[6];
    agree(client, request);
    for (int i = 0; i < 3; i++) {
        if (recv(client, ping, sizeof ping, MSG_WAITALL) != sizeof ping || ping[0] != 0x89)
            _exit(1);
        say_frame(client, 0x8a, "", 0);
    }
    say_text(client, TEXT("stopped"));
}

TEST(keeps_a_quiet_stream)
{
    struct server server;
    start(&server, answers_pings);
    assert_hears(&server, INCUS_HEARD_BEGIN, INCUS_EVENT_OTHER);
    assert_hears(&server, INCUS_HEARD_EVENT, INCUS_EVENT_ENDED);
    stop(&server);
}

TEST(waits_no_longer_than_asked)
{
    error_auto err = NULL;
    enum incus_heard heard;
    struct incus_event event;
    struct server server;
    start(&server, agrees_and_is_silent);
    assert_hears(&server, INCUS_HEARD_BEGIN, INCUS_EVENT_OTHER);
    assert_int_equal(incus_events_next(server.events, 0, &heard, &event, &err), 0);
    assert_int_equal(heard, INCUS_HEARD_NOTHING);
    assert_int_equal(incus_events_next(server.events, 50, &heard, &event, &err), 0);
    assert_int_equal(heard, INCUS_HEARD_NOTHING);
    stop(&server);
}

TEST(nobody_there)
{
    error_auto err = NULL;
    struct incus *incus;
    struct incus_events *events;
    struct incus_options options = {.url = "unix:///nonexistent/unix.socket"};
    assert_int_equal(incus_open(&options, &incus, &err), 0);
    assert_int_equal(incus_events_open(incus, &events, &err), -1);
    assert_int_equal(err->code, ERR_RUNTIME_UNAVAILABLE);
    incus_close(incus);
}
