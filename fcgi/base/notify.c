/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/notify.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Abstract names of datagram sockets: a process that ends leaves nothing behind, and no folder
 * needs rights. Sandboxes have network namespaces of their own and do not see them. */
#define WAITING_MAX 32
/* A new receiver takes the lowest free number. After so many free numbers there is hardly a
 * receiver left; one that is there checks by itself a little later. */
#define FREE_MOST 6

static uint64_t hash(const char *text)
{
    uint64_t value = 0xcbf29ce484222325u; /* FNV-1a */
    for (; *text; text++)
        value = (value ^ (unsigned char)*text) * 0x100000001b3u;
    return value;
}

static socklen_t name(const char *scope, enum notify_kind kind, unsigned number,
                      struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length =
        snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "sandlot/%016llx/%d/%u",
                 (unsigned long long)hash(scope), (int)kind, number);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

int notify_open(const char *scope, enum notify_kind kind)
{
    struct sockaddr_un address;
    if (kind == NOTIFY_NONE)
        return -1;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    for (unsigned i = 0; fd >= 0 && i < WAITING_MAX; i++) {
        socklen_t size = name(scope, kind, i, &address);
        if (bind(fd, (struct sockaddr *)&address, size) == 0)
            return fd;
    }
    notify_close(fd);
    return -1;
}

void notify_close(int fd)
{
    if (fd >= 0)
        close(fd);
}

bool notify_wait(int fd, unsigned ms)
{
    struct pollfd waiting = {.fd = fd, .events = POLLIN}; /* -1 is passed over */
    char ignored[1];
    if (poll(&waiting, 1, (int)ms) <= 0)
        return false;
    while (recv(fd, ignored, sizeof ignored, 0) >= 0)
        continue;
    return true;
}

void notify_send(const char *scope, enum notify_kind kind)
{
    static int from = -1;
    struct sockaddr_un address;
    if (from < 0)
        from = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    for (unsigned i = 0, nobody = 0; i < WAITING_MAX && nobody < FREE_MOST; i++) {
        socklen_t size = name(scope, kind, i, &address);
        /* A receiver with a full queue is awake; without a receiver nothing is lost. */
        bool sent = sendto(from, "", 1, 0, (struct sockaddr *)&address, size) >= 0;
        if (!sent && errno == EBADF)
            return;
        nobody = sent || errno != ECONNREFUSED ? 0 : nobody + 1;
    }
}
