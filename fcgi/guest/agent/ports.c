/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find the process that listens on a TCP port of the sandbox. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/handlers.h"
#include "base/cleanup.h"
#include "base/str.h"

#define ANSWER_TIMEOUT_S 2

enum port_listener {
    PORT_NONE,
    PORT_LOOPBACK, /* reachable through the relay only */
    PORT_ANY,      /* reachable at the sandbox's own address */
};

static int ask(int fd, int family)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 request;
    } message = {
        .head = {.nlmsg_len = sizeof message,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .request = {.sdiag_family = (uint8_t)family,
                    .sdiag_protocol = IPPROTO_TCP,
                    .idiag_states = 1U << TCP_LISTEN},
    };
    return send(fd, &message, sizeof message, 0) < 0 ? -1 : 0;
}

static bool is_v6_only(const struct nlmsghdr *head)
{
    const struct inet_diag_msg *message = NLMSG_DATA(head);
    int left = (int)(head->nlmsg_len - NLMSG_LENGTH(sizeof *message));
    const struct rtattr *attribute = (const struct rtattr *)(message + 1);
    for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
        if (attribute->rta_type == INET_DIAG_SKV6ONLY)
            return *(const unsigned char *)RTA_DATA(attribute);
    return false;
}

/* The sandbox's address is an IPv4 one: a server that listens on IPv6 only needs the relay as
 * well. */
static enum port_listener classify(const struct nlmsghdr *head)
{
    const struct inet_diag_msg *message = NLMSG_DATA(head);
    const uint32_t *address = message->id.idiag_src;
    if (message->idiag_family == AF_INET)
        return ntohl(address[0]) >> 24 == IN_LOOPBACKNET ? PORT_LOOPBACK : PORT_ANY;
    struct in6_addr v6;
    memcpy(&v6, address, sizeof v6);
    if (IN6_IS_ADDR_V4MAPPED(&v6))
        return ntohl(address[3]) >> 24 == IN_LOOPBACKNET ? PORT_LOOPBACK : PORT_ANY;
    return IN6_IS_ADDR_UNSPECIFIED(&v6) && !is_v6_only(head) ? PORT_ANY : PORT_LOOPBACK;
}

/* Returns 1 at the end of the answer, 0 when more follows, -1 with errno. */
static int read_part(char *part, size_t size, uint16_t port, enum port_listener *listener)
{
    const struct nlmsghdr *head = (const struct nlmsghdr *)part;
    for (; NLMSG_OK(head, size); head = NLMSG_NEXT(head, size)) {
        if (head->nlmsg_type == NLMSG_DONE)
            return 1;
        if (head->nlmsg_type == NLMSG_ERROR) {
            const struct nlmsgerr *error = NLMSG_DATA(head);
            errno = -error->error;
            return -1;
        }
        if (head->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
            continue;
        const struct inet_diag_msg *message = NLMSG_DATA(head);
        enum port_listener found = classify(head);
        if (ntohs(message->id.idiag_sport) == port && found > *listener)
            *listener = found;
    }
    return 0;
}

static int find_in_family(int fd, int family, uint16_t port, enum port_listener *listener)
{
    if (ask(fd, family) < 0)
        return -1;
    for (;;) {
        _Alignas(struct nlmsghdr) char part[16 * 1024];
        ssize_t size = recv(fd, part, sizeof part, 0);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return -1;
        int rc = read_part(part, (size_t)size, port, listener);
        if (rc != 0)
            return rc < 0 ? -1 : 0;
    }
}

/* Ask the kernel. Returns 0, or -1 with errno. */
static int ports_listener(uint16_t port, enum port_listener *listener)
{
    *listener = PORT_NONE;
    autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    const struct timeval timeout = {.tv_sec = ANSWER_TIMEOUT_S};
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) < 0 ||
        find_in_family(fd, AF_INET, port, listener) < 0)
        return -1;
    /* A kernel without IPv6 has no listeners to tell about. */
    if (find_in_family(fd, AF_INET6, port, listener) < 0 && errno != ENOENT)
        return -1;
    return 0;
}

int ports_finish(struct request *request, struct rpc_error *error)
{
    static const char *const words[] = {
        [PORT_NONE] = "none", [PORT_LOOPBACK] = "loopback", [PORT_ANY] = "any"};
    enum port_listener listener;
    uint64_t port;
    if (str_parse_u64(request->http.path + strlen(request->route->path), 1, UINT16_MAX, &port) < 0)
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "the port must be from 1 to 65535");
    if (ports_listener((uint16_t)port, &listener) < 0)
        return rpc_error_set_errno(error, errno, "cannot read the listening sockets");
    return httpd_reply_json(&request->http, 200, json_pack("{s:s}", "listener", words[listener]));
}
