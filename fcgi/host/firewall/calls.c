/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/calls.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/cleanup.h"
#include "base/instance.h"

#define ANSWER_S 1

struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 request;
};

static int ask(int fd, uint16_t type, uint16_t flags, const struct inet_diag_sockid *id)
{
    const struct question question = {
        .head = {.nlmsg_len = sizeof question,
                 .nlmsg_type = type,
                 .nlmsg_flags = NLM_F_REQUEST | flags},
        .request = {.sdiag_family = AF_INET,
                    .sdiag_protocol = IPPROTO_TCP,
                    .idiag_states = UINT32_MAX & ~(1U << TCP_LISTEN),
                    .id = *id},
    };
    return send(fd, &question, sizeof question, 0) < 0 ? -1 : 0;
}

/* End a connection. One that has ended in the meantime is no error. */
static int destroy(int fd, const struct inet_diag_sockid *id)
{
    _Alignas(struct nlmsghdr) char part[4096];
    if (ask(fd, SOCK_DESTROY, NLM_F_ACK, id) < 0 || recv(fd, part, sizeof part, 0) < 0)
        return -1;
    const struct nlmsgerr *error = NLMSG_DATA((const struct nlmsghdr *)part);
    errno = -error->error;
    return !errno || errno == ENOENT ? 0 : -1;
}

/* Port 0: every port but the agent's. */
struct target {
    uint32_t address;
    uint16_t port;
};

static bool is_target(const struct target *target, const struct inet_diag_sockid *id)
{
    uint16_t port = ntohs(id->idiag_dport);
    return ntohl(id->idiag_dst[0]) == target->address && (target->port || port != AGENT_PORT);
}

/* End the target's connections in a part of the list. Returns 1 at the end of the list, 0 when more
 * follows, -1 with errno. */
static int end_part(int fd, const char *part, size_t size, const struct target *target,
                    unsigned *ended)
{
    const struct nlmsghdr *head = (const struct nlmsghdr *)part;
    for (; NLMSG_OK(head, size); head = NLMSG_NEXT(head, size)) {
        const struct inet_diag_msg *found = NLMSG_DATA(head);
        if (head->nlmsg_type == NLMSG_DONE)
            return 1;
        if (head->nlmsg_type == NLMSG_ERROR) {
            errno = -((const struct nlmsgerr *)NLMSG_DATA(head))->error;
            return -1;
        }
        if (head->nlmsg_len < NLMSG_LENGTH(sizeof *found) || !is_target(target, &found->id))
            continue;
        if (destroy(fd, &found->id) < 0)
            return -1;
        ++*ended;
    }
    return 0;
}

static int open_diag(void)
{
    const struct timeval timeout = {.tv_sec = ANSWER_S};
    autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) < 0)
        return -1;
    return steal_fd(&fd);
}

static int end_at_port(uint32_t address, uint16_t port, unsigned *ended)
{
    const struct target target = {address, port};
    const struct inet_diag_sockid id = {.idiag_dport = htons(port), /* 0: the kernel lists all */
                                        .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}};
    autoclose int list = open_diag(), change = open_diag();
    int result = list < 0 || change < 0 ? -1 : ask(list, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, &id);
    while (result == 0) {
        _Alignas(struct nlmsghdr) char part[16 * 1024];
        ssize_t size = recv(list, part, sizeof part, 0);
        if (size < 0 && errno == EINTR)
            continue;
        result = size < 0 ? -1 : end_part(change, part, (size_t)size, &target, ended);
    }
    return result < 0 ? -1 : 0;
}

int calls_end(uint32_t address, unsigned *ended, struct error **err)
{
    *ended = 0;
    if (end_at_port(address, AGENT_PORT, ended) < 0 ||
        end_at_port(address, AGENT_RELAY_PORT, ended) < 0)
        return error_set_errno(err, ERR_RUNTIME_REFUSED, errno,
                               "cannot end the connections to an agent");
    return 0;
}

int previews_end(uint32_t address, uint16_t port, unsigned *ended, struct error **err)
{
    *ended = 0;
    if (end_at_port(address, port, ended) < 0 ||
        (port && end_at_port(address, AGENT_RELAY_PORT, ended) < 0))
        return error_set_errno(err, ERR_RUNTIME_REFUSED, errno,
                               "cannot end the connections to the ports of a sandbox");
    return 0;
}
