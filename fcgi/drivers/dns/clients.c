/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dns/clients.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/client_network.h"
#include "base/clock.h"
#include "base/mem.h"
#include "dns/listen.h"

#define CLIENTS_MAX         512
#define CLIENTS_ADDRESS_MAX 8
#define QUESTION_MAX        1024
#define OUTPUT_MAX          (4 * 65537)
#define IDLE_MS             10000
#define FRAME_HEADER        2

struct dns_client {
    struct loop_source source;
    struct dns_clients *clients;
    uint64_t serial;
    struct sockaddr_storage from;
    char network[CLIENT_NETWORK_SIZE]; /* that it counts for */
    size_t rank;                       /* how many connections this network had before it */
    uint8_t input[FRAME_HEADER + QUESTION_MAX];
    size_t received;
    struct buffer output;
    int64_t close_at_ms;
    struct dns_client *next;
};

struct dns_clients {
    struct loop_listener listener;
    struct loop *loop;
    const struct dns_clients_calls *calls;
    void *context;
    struct dns_client *first;
    size_t count;
    uint64_t last_serial;
};

static void client_close(struct dns_client *client)
{
    struct dns_client **link = &client->clients->first;
    while (*link != client)
        link = &(*link)->next;
    *link = client->next;
    client->clients->count--;
    loop_close(client->clients->loop, &client->source);
    buffer_deinit(&client->output);
    free(client);
}

static struct dns_client *find_client(struct dns_clients *clients, uint64_t serial)
{
    struct dns_client *client = clients->first;
    while (client && client->serial != serial)
        client = client->next;
    return client;
}

/* False when the connection is of no more use. */
static bool flush(struct dns_client *client)
{
    while (client->output.size) {
        ssize_t sent =
            send(client->source.fd, client->output.data, client->output.size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN)
            break;
        if (sent <= 0)
            return false;
        buffer_consume(&client->output, (size_t)sent);
    }
    loop_change(client->clients->loop, &client->source,
                client->output.size ? EPOLLIN | EPOLLOUT : EPOLLIN);
    return true;
}

void dns_clients_send(struct dns_clients *clients, uint64_t serial, const uint8_t *wire,
                      size_t size)
{
    struct dns_client *client = find_client(clients, serial);
    uint8_t header[FRAME_HEADER] = {(uint8_t)(size >> 8), (uint8_t)size};
    if (!client)
        return;
    buffer_append(&client->output, header, sizeof header);
    buffer_append(&client->output, wire, size);
    client->close_at_ms = clock_monotonic_ms() + IDLE_MS;
    /* A client that does not read its answers is disconnected. */
    if (buffer_overflowed(&client->output) || !flush(client))
        client_close(client);
}

/* Hands on the messages that are whole; one at a time, since an answer may close the connection. */
static void take_frames(struct dns_clients *clients, uint64_t serial)
{
    struct dns_client *client;
    while ((client = find_client(clients, serial)) && client->received >= FRAME_HEADER) {
        uint8_t message[QUESTION_MAX];
        size_t size = (size_t)client->input[0] << 8 | client->input[1];
        if (!size || size > QUESTION_MAX) {
            client_close(client);
            return;
        }
        if (client->received < FRAME_HEADER + size)
            return;
        memcpy(message, client->input + FRAME_HEADER, size);
        client->received -= FRAME_HEADER + size;
        memmove(client->input, client->input + FRAME_HEADER + size, client->received);
        clients->calls->question(clients->context, &client->from, serial, message, size);
    }
}

static void on_client(struct loop_source *source, uint32_t events)
{
    struct dns_client *client = container_of(source, struct dns_client, source);
    if ((events & EPOLLOUT) && !flush(client)) {
        client_close(client);
        return;
    }
    if (!(events & (EPOLLIN | EPOLLERR | EPOLLHUP)))
        return;
    ssize_t got = recv(source->fd, client->input + client->received,
                       sizeof client->input - client->received, 0);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) {
        client_close(client);
        return;
    }
    client->received += (size_t)got;
    client->close_at_ms = clock_monotonic_ms() + IDLE_MS;
    take_frames(client->clients, client->serial);
}

static size_t rank_of(const struct dns_clients *clients, const char *network)
{
    size_t same = 0;
    for (const struct dns_client *client = clients->first; client; client = client->next)
        same += !strcmp(client->network, network);
    return same;
}

/* Make room for a connection of this rank. Many addresses of one tenant must not keep the others
 * out: when all places are taken, the address with the most connections loses one. */
static bool make_room(struct dns_clients *clients, size_t rank)
{
    struct dns_client *last = clients->first;
    if (rank >= CLIENTS_ADDRESS_MAX)
        return false;
    if (clients->count < CLIENTS_MAX)
        return true;
    for (struct dns_client *client = last; client; client = client->next)
        if (client->rank >= last->rank) /* of the same rank, the oldest: new ones are first */
            last = client;
    if (last->rank <= rank)
        return false;
    client_close(last);
    return true;
}

static void on_listener(struct loop_source *source, uint32_t events)
{
    struct dns_clients *clients = container_of(source, struct dns_clients, listener.source);
    struct sockaddr_storage from;
    char address[CLIENT_NETWORK_SIZE], network[CLIENT_NETWORK_SIZE];
    socklen_t size = sizeof from;
    (void)events;
    autoclose int fd = loop_accept(clients->loop, &clients->listener, (struct sockaddr *)&from,
                                   &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 || !clients->calls->may_connect(clients->context, &from))
        return;
    client_network(dns_address_text(&from, address), network);
    size_t rank = rank_of(clients, network);
    if (!make_room(clients, rank))
        return;
    struct dns_client *client = xcalloc(1, sizeof *client);
    client->clients = clients;
    client->serial = ++clients->last_serial;
    client->from = from;
    memcpy(client->network, network, sizeof network);
    client->rank = rank;
    client->close_at_ms = clock_monotonic_ms() + IDLE_MS;
    buffer_init(&client->output, OUTPUT_MAX);
    if (loop_add(clients->loop, &client->source, fd, EPOLLIN, on_client) < 0) {
        free(client);
        return;
    }
    steal_fd(&fd);
    client->next = clients->first;
    clients->first = client;
    clients->count++;
}

void dns_clients_tick(struct dns_clients *clients, int64_t now_ms)
{
    struct dns_client *next;
    for (struct dns_client *client = clients->first; client; client = next) {
        next = client->next;
        if (client->close_at_ms <= now_ms)
            client_close(client);
    }
}

struct dns_clients *dns_clients_open(struct loop *loop, int listen_fd,
                                     const struct dns_clients_calls *calls, void *context)
{
    struct dns_clients *clients = xcalloc(1, sizeof *clients);
    *clients = (struct dns_clients){.loop = loop, .calls = calls, .context = context};
    if (loop_add(loop, &clients->listener.source, listen_fd, EPOLLIN, on_listener) == 0)
        return clients;
    close(listen_fd);
    free(clients);
    return NULL;
}

void dns_clients_close(struct dns_clients *clients)
{
    if (!clients)
        return;
    while (clients->first)
        client_close(clients->first);
    loop_listener_close(clients->loop, &clients->listener);
    free(clients);
}
