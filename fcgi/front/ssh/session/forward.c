/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Forward connections to ports of the sandbox's own loopback (-L, -D, -W), and from there (-R). The
 * agent's program in the sandbox makes or accepts each connection. It sends a zero byte first when
 * the connection stands.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/str.h"
#include "ssh/session/session.h"

/* Return whether a host means the sandbox. Connections to other hosts are refused; names are never
 * resolved. */
static bool is_sandbox(const struct session *session, const char *host)
{
    return host && (!strcasecmp(host, "localhost") || str_starts_with(host, "127.") ||
                    str_equal(host, "::1") || str_equal(host, "0.0.0.0") ||
                    (*session->sandbox.id && str_equal(host, session->sandbox.id)));
}

void forward_open(struct session *session, ssh_message message)
{
    const char *host = ssh_message_channel_request_open_destination(message);
    int port = ssh_message_channel_request_open_destination_port(message);
    if (!session->allows_ports || !is_sandbox(session, host) || port < 1 || port > UINT16_MAX) {
        ssh_message_reply_default(message);
        ssh_message_free(message);
        return;
    }
    struct flow *flow = flow_new(session, NULL);
    flow->kind = FLOW_PORT;
    flow->port = (uint16_t)port;
    flow->request = message;
    flow->state = FLOW_WANTED;
}

void forward_refuse(struct flow *flow)
{
    if (flow->request) {
        ssh_message_reply_default(flow->request);
        ssh_message_free(flow->request);
    }
    flow->request = NULL;
}

static void refuse(struct flow *flow)
{
    forward_refuse(flow);
    flow_abandon(flow);
}

static void accept_it(struct flow *flow)
{
    flow->ssh = ssh_message_channel_request_open_reply_accept(flow->request);
    ssh_message_free(flow->request);
    flow->request = NULL;
    flow->state = FLOW_RUNNING;
    if (!flow->ssh)
        flow_abandon(flow);
}

/* Offer the connection to the client; repeat until the client has answered. */
static void offer(struct flow *flow)
{
    int rc = ssh_channel_open_reverse_forward(flow->ssh, flow->listened, flow->port, flow->peer,
                                              flow->peer_port);
    if (rc == SSH_OK)
        flow->state = FLOW_RUNNING;
    else if (rc != SSH_AGAIN)
        flow_abandon(flow);
}

static void begin_offer(struct flow *flow)
{
    flow->ssh = ssh_channel_new(flow->session->ssh);
    flow->state = FLOW_OPENING;
    if (!flow->ssh)
        flow_abandon(flow);
}

void forward_work(struct flow *flow)
{
    char first;
    if (flow->state == FLOW_OPENING) {
        offer(flow);
        return;
    }
    ssize_t size = read(flow->child.out, &first, 1);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size != 1 || first != '\0') {
        refuse(flow);
    } else if (flow->request) {
        accept_it(flow);
    } else {
        begin_offer(flow);
        flow->session->hurried = true;
    }
}
