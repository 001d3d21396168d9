/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/netfilter.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MESSAGE_MAX     8192
#define LOGGED_BYTES    64
#define LOG_WAIT_CS     10 /* the longest delay of a packet, in hundredths of a second */
#define LOG_BATCH       16
#define LOG_READS       64
#define IPV4_SIZE_MIN   20
#define TOO_MANY_PREFIX "too many" /* prefix of chain too_many in conf/nftables/sandlot.nft.in */

/* --- building and reading messages --- */

struct request {
    struct nlmsghdr header;
    struct nfgenmsg netfilter;
    uint8_t attributes[256];
};

static void request_init(struct request *request, unsigned subsystem, unsigned type, uint8_t family,
                         uint16_t resource)
{
    memset(request, 0, sizeof *request);
    request->header.nlmsg_len = NLMSG_LENGTH(sizeof request->netfilter);
    request->header.nlmsg_type = (uint16_t)(subsystem << 8 | type);
    request->header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    request->netfilter.nfgen_family = family;
    request->netfilter.version = NFNETLINK_V0;
    request->netfilter.res_id = htons(resource);
}

static void request_add(struct request *request, uint16_t type, const void *data, size_t size)
{
    struct nlattr attribute = {(uint16_t)(NLA_HDRLEN + size), type};
    uint8_t *at = (uint8_t *)request + NLMSG_ALIGN(request->header.nlmsg_len);
    memcpy(at, &attribute, sizeof attribute);
    memcpy(at + NLA_HDRLEN, data, size);
    request->header.nlmsg_len =
        NLMSG_ALIGN(request->header.nlmsg_len) + (uint32_t)NLA_ALIGN(NLA_HDRLEN + size);
}

/* Return the contents of the first attribute of a type in size bytes, or NULL. */
static const uint8_t *find_attribute(const uint8_t *data, size_t size, uint16_t type,
                                     size_t *found_size)
{
    while (size >= NLA_HDRLEN) {
        struct nlattr attribute;
        memcpy(&attribute, data, sizeof attribute);
        if (attribute.nla_len < NLA_HDRLEN || attribute.nla_len > size)
            return NULL;
        if ((attribute.nla_type & NLA_TYPE_MASK) == type) {
            *found_size = attribute.nla_len - NLA_HDRLEN;
            return data + NLA_HDRLEN;
        }
        size_t step = NLA_ALIGN(attribute.nla_len);
        if (step > size)
            return NULL;
        data += step;
        size -= step;
    }
    return NULL;
}

/* Call visit() for each message, with its type and the bytes after the netfilter header.
 * Acknowledgements and errors have type NLMSG_ERROR. */
static void each_message(const uint8_t *data, size_t size,
                         void (*visit)(void *context, uint16_t type, const uint8_t *body,
                                       size_t body_size),
                         void *context)
{
    while (size >= sizeof(struct nlmsghdr)) {
        struct nlmsghdr header;
        memcpy(&header, data, sizeof header);
        if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > size)
            return;
        size_t skip = NLMSG_HDRLEN;
        if (header.nlmsg_type != NLMSG_ERROR)
            skip += NLMSG_ALIGN(sizeof(struct nfgenmsg));
        if (header.nlmsg_len >= skip)
            visit(context, header.nlmsg_type, data + skip, header.nlmsg_len - skip);
        size_t step = NLMSG_ALIGN(header.nlmsg_len);
        if (step > size)
            return;
        data += step;
        size -= step;
    }
}

static int open_socket(int *fd)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK};
    struct timeval patience = {.tv_sec = 2};
    autoclose int fresh = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
    if (fresh < 0 || bind(fresh, (const struct sockaddr *)&address, sizeof address) < 0 ||
        setsockopt(fresh, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0)
        return -1;
    *fd = steal_fd(&fresh);
    return 0;
}

struct reply {
    bool done;
    int errnum;
    uint64_t handle;
};

static void on_reply(void *context, uint16_t type, const uint8_t *body, size_t size)
{
    struct reply *reply = context;
    size_t found_size;
    if (type == NLMSG_ERROR) {
        int32_t code;
        if (size < sizeof code)
            return;
        memcpy(&code, body, sizeof code);
        reply->errnum = -code;
        reply->done = true;
        return;
    }
    const uint8_t *handle = find_attribute(body, size, NFTA_TABLE_HANDLE, &found_size);
    if (handle && found_size == sizeof reply->handle) {
        memcpy(&reply->handle, handle, sizeof reply->handle);
        reply->handle = be64toh(reply->handle);
    }
}

/* Send a request and wait for the acknowledgement. Returns 0, or -1 with errno. */
static int ask(int fd, const struct request *request, struct reply *reply)
{
    uint8_t data[MESSAGE_MAX];
    if (send(fd, request, request->header.nlmsg_len, 0) < 0)
        return -1;
    while (!reply->done) {
        ssize_t got = recv(fd, data, sizeof data, 0);
        if (got < 0 && errno != EINTR)
            return -1;
        if (got > 0)
            each_message(data, (size_t)got, on_reply, reply);
    }
    errno = reply->errnum;
    return reply->errnum ? -1 : 0;
}

/* --- the connection --- */

static int open_once(struct netfilter *netfilter, struct error **err)
{
    if (netfilter->fd < 0 && open_socket(&netfilter->fd) < 0)
        return error_set_errno(err, ERR_RUNTIME_REFUSED, errno, "cannot open a netlink socket");
    return 0;
}

void netfilter_close(struct netfilter *netfilter)
{
    if (netfilter->fd >= 0)
        close(netfilter->fd);
    netfilter->fd = -1;
}

/* Close the connection: the next call could take a late answer for its own. */
static int give_up(struct netfilter *netfilter)
{
    netfilter_close(netfilter);
    return -1;
}

/* --- the table --- */

int netfilter_table_handle(struct netfilter *netfilter, const char *table, uint64_t *handle,
                           struct error **err)
{
    struct request request;
    struct reply reply = {0};
    *handle = 0;
    if (open_once(netfilter, err) < 0)
        return -1;
    request_init(&request, NFNL_SUBSYS_NFTABLES, NFT_MSG_GETTABLE, NFPROTO_INET, 0);
    request_add(&request, NFTA_TABLE_NAME, table, strnlen(table, 64) + 1);
    if (ask(netfilter->fd, &request, &reply) < 0 && errno != ENOENT) {
        error_set_errno(err, ERR_RUNTIME_REFUSED, errno, "cannot read the table %s", table);
        return give_up(netfilter);
    }
    *handle = reply.handle;
    return 0;
}

/* --- changes --- */

/* The kernel replies in the order of the messages, after it has applied or refused the
 * transaction. */
struct outcome {
    uint32_t last;
    bool done;
    int errnum;
    uint32_t failed;
};

static void on_outcome(void *context, uint16_t type, const uint8_t *body, size_t size)
{
    struct outcome *outcome = context;
    struct nlmsgerr reply;
    if (type != NLMSG_ERROR || size < sizeof reply)
        return;
    memcpy(&reply, body, sizeof reply);
    if (reply.error && !outcome->errnum) {
        outcome->errnum = -reply.error;
        outcome->failed = reply.msg.nlmsg_seq;
    }
    /* Number 0: the whole transaction was refused. */
    if (reply.msg.nlmsg_seq == outcome->last || (reply.error && !reply.msg.nlmsg_seq))
        outcome->done = true;
}

static int run(int fd, const void *batch, size_t size, struct outcome *outcome, struct error **err)
{
    uint8_t data[MESSAGE_MAX];
    if (send(fd, batch, size, 0) < 0)
        return error_set_errno(err, ERR_RUNTIME_REFUSED, errno,
                               "cannot send a change of nftables to the kernel");
    while (!outcome->done) {
        ssize_t got = recv(fd, data, sizeof data, 0);
        if (got < 0 && errno != EINTR)
            return error_set_errno(err, ERR_RUNTIME_REFUSED, errno,
                                   "the kernel did not answer on netlink");
        if (got > 0)
            each_message(data, (size_t)got, on_outcome, outcome);
    }
    return outcome->errnum ? error_set_errno(err, ERR_RUNTIME_REFUSED, outcome->errnum,
                                             "the kernel refused a change of nftables")
                           : 0;
}

int netfilter_change(struct netfilter *netfilter, const void *batch, size_t size, uint32_t last,
                     uint32_t *failed, struct error **err)
{
    struct outcome outcome = {.last = last};
    *failed = 0;
    if (open_once(netfilter, err) < 0)
        return -1;
    int result = run(netfilter->fd, batch, size, &outcome, err);
    *failed = outcome.failed;
    return result < 0 ? give_up(netfilter) : 0;
}

/* --- the log --- */

static int log_configure_group(int fd, uint16_t group)
{
    struct nfulnl_msg_config_cmd bind_group = {NFULNL_CFG_CMD_BIND};
    struct nfulnl_msg_config_mode mode = {htonl(LOGGED_BYTES), NFULNL_COPY_PACKET, 0};
    uint32_t wait = htonl(LOG_WAIT_CS), batch = htonl(LOG_BATCH);
    struct request request;
    struct reply reply = {0};
    request_init(&request, NFNL_SUBSYS_ULOG, NFULNL_MSG_CONFIG, AF_UNSPEC, group);
    request_add(&request, NFULA_CFG_CMD, &bind_group, sizeof bind_group);
    if (ask(fd, &request, &reply) < 0)
        return -1;
    reply = (struct reply){0};
    request_init(&request, NFNL_SUBSYS_ULOG, NFULNL_MSG_CONFIG, AF_UNSPEC, group);
    request_add(&request, NFULA_CFG_MODE, &mode, sizeof mode);
    request_add(&request, NFULA_CFG_TIMEOUT, &wait, sizeof wait);
    request_add(&request, NFULA_CFG_QTHRESH, &batch, sizeof batch);
    return ask(fd, &request, &reply);
}

int netfilter_log_open(uint16_t group, int *fd, struct error **err)
{
    autoclose int fresh = -1;
    if (open_socket(&fresh) < 0 || log_configure_group(fresh, group) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read NFLOG group %u", group);
    *fd = steal_fd(&fresh);
    return 0;
}

struct log_visit {
    void (*refused)(void *context, const struct refused_packet *packet);
    void *context;
};

static uint32_t get_32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void on_logged(void *context, uint16_t type, const uint8_t *body, size_t size)
{
    const struct log_visit *visit = context;
    size_t length;
    if (type != (NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET))
        return;
    const uint8_t *packet = find_attribute(body, size, NFULA_PAYLOAD, &length);
    if (!packet || length < IPV4_SIZE_MIN || packet[0] >> 4 != 4)
        return;
    size_t header = (size_t)(packet[0] & 15) * 4;
    struct refused_packet refused = {
        .source = get_32(packet + 12), .target = get_32(packet + 16), .protocol = packet[9]};
    if ((refused.protocol == IPPROTO_TCP || refused.protocol == IPPROTO_UDP) &&
        header >= IPV4_SIZE_MIN && length >= header + 4)
        refused.port = (uint16_t)(packet[header + 2] << 8 | packet[header + 3]);
    const uint8_t *prefix = find_attribute(body, size, NFULA_PREFIX, &length);
    refused.too_many = prefix && length >= strlen(TOO_MANY_PREFIX) &&
                       !memcmp(prefix, TOO_MANY_PREFIX, strlen(TOO_MANY_PREFIX));
    visit->refused(visit->context, &refused);
}

void netfilter_log_parse(const uint8_t *data, size_t size,
                         void (*refused)(void *context, const struct refused_packet *packet),
                         void *context)
{
    struct log_visit visit = {refused, context};
    each_message(data, size, on_logged, &visit);
}

void netfilter_log_read(int fd, void (*refused)(void *context, const struct refused_packet *packet),
                        void *context)
{
    uint8_t data[MESSAGE_MAX];
    for (unsigned i = 0; i < LOG_READS; i++) {
        ssize_t got = recv(fd, data, sizeof data, MSG_DONTWAIT);
        /* ENOBUFS: some packets were lost, which a limited log allows. */
        if (got < 0 && errno != ENOBUFS)
            return;
        if (got > 0)
            netfilter_log_parse(data, (size_t)got, refused, context);
    }
}
