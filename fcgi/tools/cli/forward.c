/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/forward.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define HEAD_MAX (64 * 1024)
#define PIECE    (16 * 1024)
#define WAIT_MS  60000

static bool is_header(const char *line, const char *name)
{
    size_t length = strlen(name);
    return !strncasecmp(line, name, length) && line[length] == ':';
}

static bool is_replaced(const char *line)
{
    return is_header(line, "Host") || is_header(line, "Connection") ||
           is_header(line, FORWARD_TOKEN_HEADER) || is_header(line, "Keep-Alive");
}

int forward_head(const struct forward *forward, const char *head, size_t size, struct buffer *out)
{
    autofree char *text = xstrndup(head, size);
    bool upgrades = false;
    char *line = text, *end = strstr(line, "\r\n");
    if (!end || strlen(text) != size)
        return -1;
    buffer_append(out, line, (size_t)(end - line) + 2);
    for (line = end + 2; (end = strstr(line, "\r\n")) && end > line; line = end + 2) {
        upgrades |= is_header(line, "Upgrade");
        if (!is_replaced(line))
            buffer_append(out, line, (size_t)(end - line) + 2);
    }
    buffer_printf(out, "Host: %s\r\n%s\r\nConnection: %s\r\n\r\n", forward->host,
                  forward->token_header, upgrades ? "upgrade" : "close");
    return buffer_overflowed(out) ? -1 : 0;
}

/* Return whether the value of a header Host is an address, or a name that always means this
 * machine. */
static bool is_local(const char *host)
{
    autofree char *name = xstrndup(host, strcspn(host, ":\r \t"));
    return *host == '[' || (*name && !name[strspn(name, "0123456789.")]) ||
           !strcasecmp(name, "localhost") || str_ends_with(name, ".localhost");
}

bool forward_is_for_local(const char *head, size_t size)
{
    autofree char *text = xstrndup(head, size);
    for (const char *line = text; (line = strstr(line, "\r\n"));) {
        line += 2;
        if (is_header(line, "Host") && !is_local(line + 5 + strspn(line + 5, " \t")))
            return false;
    }
    return true;
}

/* --- the two ends --- */

static int read_head(int client, struct buffer *head)
{
    while (!head->size || !strstr(head->data, "\r\n\r\n")) {
        char *room = buffer_reserve(head, PIECE);
        ssize_t size = room ? recv(client, room, PIECE, 0) : 0;
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            return -1;
        buffer_commit(head, (size_t)size);
    }
    return 0;
}

static int send_on(CURL *remote, int fd, const char *data, size_t size)
{
    while (size) {
        size_t sent = 0;
        CURLcode code = curl_easy_send(remote, data, size, &sent);
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        if (code == CURLE_AGAIN && poll(&wait, 1, WAIT_MS) <= 0)
            return -1;
        if (code != CURLE_OK && code != CURLE_AGAIN)
            return -1;
        data += sent;
        size -= sent;
    }
    return 0;
}

static int send_back(int client, const char *data, size_t size)
{
    while (size) {
        ssize_t sent = send(client, data, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return -1;
        data += sent;
        size -= (size_t)sent;
    }
    return 0;
}

/* All that has come from the sandbox. Returns -1 at its end. */
static int drain(CURL *remote, int client)
{
    char piece[PIECE];
    for (;;) {
        size_t size = 0;
        CURLcode code = curl_easy_recv(remote, piece, sizeof piece, &size);
        if (code == CURLE_AGAIN)
            return 0;
        if (code != CURLE_OK || !size || send_back(client, piece, size) < 0)
            return -1;
    }
}

static void pump(CURL *remote, int fd, int client)
{
    struct pollfd ends[] = {{.fd = fd, .events = POLLIN}, {.fd = client, .events = POLLIN}};
    char piece[PIECE];
    while (drain(remote, client) == 0) {
        if (poll(ends, 2, -1) < 0 && errno != EINTR)
            return;
        if (!ends[1].revents)
            continue;
        ssize_t size = recv(client, piece, sizeof piece, 0);
        if (size <= 0) /* it has said all that it has to say, or is gone */
            ends[1].fd = -1;
        else if (send_on(remote, fd, piece, (size_t)size) < 0)
            return;
    }
}

static void refuse(int client, const char *status, const char *why)
{
    autofree char *answer = xasprintf("HTTP/1.1 %s\r\nContent-Type: text/plain\r\n"
                                      "Content-Length: %zu\r\nConnection: close\r\n\r\n%s\n",
                                      status, strlen(why) + 1, why);
    send_back(client, answer, strlen(answer));
}

static void connect_through(const struct cli *cli, const struct forward *forward, int client,
                            const struct buffer *head, const struct buffer *received)
{
    CURL *remote = curl_easy_init();
    curl_socket_t fd = CURL_SOCKET_BAD;
    struct curl_slist *resolve = exchange_prepare(cli, remote, forward->url);
    curl_easy_setopt(remote, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(remote, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    CURLcode code = curl_easy_perform(remote);
    size_t head_size = (size_t)(strstr(received->data, "\r\n\r\n") + 4 - received->data);
    if (code != CURLE_OK || curl_easy_getinfo(remote, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK) {
        refuse(client, "502 Bad Gateway", curl_easy_strerror(code));
    } else if (send_on(remote, fd, head->data, head->size) == 0 &&
               send_on(remote, fd, received->data + head_size, received->size - head_size) == 0) {
        pump(remote, fd, client);
    }
    curl_easy_cleanup(remote);
    curl_slist_free_all(resolve);
}

void forward_serve(const struct cli *cli, const struct forward *forward, int client)
{
    buffer_auto received = BUFFER_INIT(HEAD_MAX + PIECE);
    buffer_auto head = BUFFER_INIT(2 * HEAD_MAX);
    if (read_head(client, &received) < 0)
        return;
    size_t size = (size_t)(strstr(received.data, "\r\n\r\n") + 4 - received.data);
    if (forward_head(forward, received.data, size, &head) < 0)
        refuse(client, "502 Bad Gateway", "this is not an HTTP/1 request");
    else if (!forward_is_for_local(received.data, size))
        refuse(client, "403 Forbidden", "use the address 127.0.0.1 or the name localhost");
    else
        connect_through(cli, forward, client, &head, &received);
}
