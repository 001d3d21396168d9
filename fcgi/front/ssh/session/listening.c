/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ports of the sandbox's loopback whose connections go to the client (-R). The agent's program
 * listens there, and a process of its own takes each connection (agent/tcp_listen.h). Each one is a
 * flow here, and counts as one of the SSH connection's channels.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "ssh/session/session.h"

#define LISTEN_WAIT_MS 10000
#define BEAT_MS        45000 /* the agent's program ends when no heartbeat comes */
#define SAID_MAX       4096

/* Return whether an address means the sandbox's loopback; clients write it in several ways. */
static bool is_loopback(const char *address)
{
    static const char *const names[] = {"", "*", "0.0.0.0", "::", "localhost", "127.0.0.1", "::1"};
    for (size_t i = 0; address && i < ARRAY_SIZE(names); i++)
        if (!strcasecmp(names[i], address))
            return true;
    return false;
}

void listening_free(struct listening *listening)
{
    struct session *session = listening->session;
    child_close(&listening->child);
    if (listening->child.pid && !listening->is_reaped)
        kill(listening->child.pid, SIGTERM);
    free(listening->address);
    free(listening->name);
    buffer_deinit(&listening->said);
    LIST_REMOVE(listening, entry);
    session->listening_count--;
    free(listening);
}

/* Read the output of the agent's program. Returns false at its end. */
static bool hear(struct listening *listening)
{
    char piece[512];
    ssize_t size = read(listening->child.out, piece, sizeof piece);
    if (size > 0)
        return buffer_append(&listening->said, piece, (size_t)size) == 0;
    return size < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Take the next line of two words; the caller owns second. Returns false when no whole line has
 * come. */
static bool take_line(struct listening *listening, char **first, char **second)
{
    struct buffer *said = &listening->said;
    const char *end = said->size ? memchr(said->data, '\n', said->size) : NULL;
    if (!end)
        return false;
    size_t length = (size_t)(end - said->data), word = strcspn(said->data, " \n");
    *first = xstrndup(said->data, word);
    *second = xstrndup(said->data + word + (word < length), length - word - (word < length));
    buffer_consume(said, length + 1);
    return true;
}

static int start(struct listening *listening, int port, struct error **err)
{
    struct session *session = listening->session;
    autofree char *word = xasprintf("%d", port);
    if (sandbox_enter(session, err) < 0)
        return -1;
    const struct child_call call = {
        .words = {"exec", session->sandbox.id, SANDBOX_AGENT, "listen", word},
        .count = 5,
    };
    return child_start(&session->setting, &call, &listening->child, err);
}

/* Wait for the first line, with the port. Meanwhile the session reads nothing from the client,
 * because requests of this kind are answered in order. */
static bool wait_for_port(struct listening *listening)
{
    int64_t until_ms = clock_monotonic_ms() + LISTEN_WAIT_MS;
    autofree char *port = NULL;
    uint64_t number;
    while (!take_line(listening, &port, &listening->name)) {
        struct pollfd wait = {.fd = listening->child.out, .events = POLLIN};
        int64_t left_ms = until_ms - clock_monotonic_ms();
        if (left_ms <= 0 || (poll(&wait, 1, (int)left_ms) < 0 && errno != EINTR))
            return false;
        if (wait.revents && !hear(listening))
            return false;
    }
    if (str_parse_u64(port, 1, UINT16_MAX, &number) < 0)
        return false;
    listening->port = (int)number;
    return true;
}

static bool begin(struct session *session, const char *address, int port)
{
    error_auto err = NULL;
    struct listening *listening = xcalloc(1, sizeof *listening);
    listening->session = session;
    listening->address = xstrdup(address);
    listening->child = (struct child){0, -1, -1, -1};
    listening->beat_at_ms = clock_monotonic_ms() + BEAT_MS;
    buffer_init(&listening->said, SAID_MAX);
    LIST_INSERT_HEAD(&session->listenings, listening, entry);
    session->listening_count++;
    if (start(listening, port, &err) == 0 && wait_for_port(listening))
        return true;
    buffer_printf(&session->notice, "Port %d is not forwarded: %s\n", port,
                  err ? err->message : "the sandbox cannot listen on that port.");
    listening_free(listening);
    return false;
}

static struct listening *find(struct session *session, const char *address, int port)
{
    struct listening *one;
    LIST_FOREACH(one, &session->listenings, entry)
    if (address && str_equal(one->address, address) && one->port == port)
        return one;
    return NULL;
}

bool listening_open(struct session *session, ssh_message message)
{
    const char *address = ssh_message_global_request_address(message);
    int port = ssh_message_global_request_port(message);
    if (!session->authenticated || !session->allows_ports || !is_loopback(address) || port < 0 ||
        port > UINT16_MAX || session->listening_count == LISTENINGS_MAX ||
        !begin(session, address, port))
        return false;
    int bound = LIST_FIRST(&session->listenings)->port;
    ssh_message_global_request_reply_success(message, (uint16_t)bound);
    return true;
}

bool listening_cancel(struct session *session, ssh_message message)
{
    struct listening *listening = find(session, ssh_message_global_request_address(message),
                                       ssh_message_global_request_port(message));
    if (!listening)
        return false;
    listening_free(listening);
    ssh_message_global_request_reply_success(message, 0);
    return true;
}

/* --- connections --- */

static void take_connection(struct listening *listening, char *address, const char *port)
{
    uint64_t number;
    struct flow *flow = flow_new(listening->session, NULL);
    flow->kind = FLOW_PORT;
    flow->port = (uint16_t)listening->port;
    flow->accepted = xstrdup(listening->name);
    flow->listened = xstrdup(listening->address);
    flow->peer = address;
    flow->peer_port = str_parse_u64(port, 1, UINT16_MAX, &number) == 0 ? (uint16_t)number : 0;
    flow->state = FLOW_WANTED;
}

bool listening_hears(const struct listening *listening)
{
    return listening->session->flow_count < listening->session->flows_max;
}

static void beat(struct listening *listening)
{
    if (clock_monotonic_ms() < listening->beat_at_ms)
        return;
    listening->beat_at_ms = clock_monotonic_ms() + BEAT_MS;
    if (write(listening->child.in, "\n", 1) < 0 && errno == EPIPE)
        child_close_input(&listening->child);
}

bool listening_work(struct listening *listening)
{
    char *address;
    bool goes_on = true;
    while (listening_hears(listening)) {
        char *port;
        if (!take_line(listening, &address, &port))
            break;
        take_connection(listening, address, port);
        free(port);
    }
    if (listening_hears(listening))
        goes_on = hear(listening);
    listening->session->hurried |= listening->said.size != 0 && listening_hears(listening);
    beat(listening);
    return goes_on && !listening->is_reaped;
}
