/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dns/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include "base/cleanup.h"

#define BACKLOG        64
#define RECEIVE_BUFFER (1 << 20)

const char *dns_address_text(const struct sockaddr_storage *address, char text[CLIENT_NETWORK_SIZE])
{
    const void *bytes = address->ss_family == AF_INET6
                            ? (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr
                            : &((const struct sockaddr_in *)address)->sin_addr;
    if (!inet_ntop(address->ss_family, bytes, text, CLIENT_NETWORK_SIZE))
        text[0] = '\0';
    return text;
}

/* The size of the address for bind() and sendto(). */
static socklen_t dns_address_size(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                          : sizeof(struct sockaddr_in);
}

static unsigned port_of(const struct sockaddr_storage *address)
{
    return ntohs(address->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)address)->sin6_port
                                                : ((const struct sockaddr_in *)address)->sin_port);
}

int dns_listen(int type, const struct sockaddr_storage *address, struct error **err)
{
    int on = 1, size = RECEIVE_BUFFER;
    char text[CLIENT_NETWORK_SIZE];
    bool is_v6 = address->ss_family == AF_INET6, is_stream = type == SOCK_STREAM;
    autoclose int fd = socket(address->ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 ||
        setsockopt(fd, is_v6 ? IPPROTO_IPV6 : IPPROTO_IP, is_v6 ? IPV6_FREEBIND : IP_FREEBIND, &on,
                   sizeof on) < 0 ||
        (is_v6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0) ||
        (is_stream && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0) ||
        bind(fd, (const struct sockaddr *)address, dns_address_size(address)) < 0 ||
        (is_stream && listen(fd, BACKLOG) < 0))
        return error_set_errno(err, ERR_CONFIG, errno, "cannot listen on %s port %u",
                               dns_address_text(address, text), port_of(address));
    if (!is_stream)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    return steal_fd(&fd);
}
