/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "ssh/session/session.h"

#define COMMAND_MAX     (256 * 1024)
#define ENVIRONMENT_MAX (64 * 1024)
#define VARIABLES_MAX   128
#define SIDE_MAX        4096 /* columns or rows of a terminal */
#define MESSAGES_MAX    64   /* before other work gets its turn */

/* Templates have sftp-server in different folders. */
#define FILES_COMMAND                                                           \
    "for p in /usr/lib/openssh /usr/libexec/openssh /usr/lib/ssh /usr/libexec " \
    "/usr/local/libexec; "                                                      \
    "do [ -x \"$p/sftp-server\" ] && exec \"$p/sftp-server\"; done; "           \
    "echo 'This template has no sftp-server; install openssh-sftp-server.' >&2; exit 127"

static struct flow *find(struct session *session, ssh_channel ssh)
{
    struct flow *one;
    LIST_FOREACH(one, &session->flows, entry)
    if (ssh && one->ssh == ssh)
        return one;
    return NULL;
}

static int side(int value, int usual)
{
    return value > 0 && value <= SIDE_MAX ? value : usual;
}

static bool take_terminal(struct flow *flow, ssh_message message)
{
    const char *kind = ssh_message_channel_request_pty_term(message);
    if (flow->state != FLOW_OPEN || !flow->session->allows_terminals)
        return false;
    flow->terminal = true;
    flow->cols = side(ssh_message_channel_request_pty_width(message), 80);
    flow->rows = side(ssh_message_channel_request_pty_height(message), 24);
    snprintf(flow->terminal_kind, sizeof flow->terminal_kind, "%s",
             kind && *kind ? kind : "xterm-256color");
    return true;
}

static bool take_size(struct flow *flow, ssh_message message)
{
    flow->cols = side(ssh_message_channel_request_pty_width(message), flow->cols);
    flow->rows = side(ssh_message_channel_request_pty_height(message), flow->rows);
    child_resize(&flow->child, flow->cols, flow->rows);
    return true;
}

static bool take_variable(struct flow *flow, ssh_message message)
{
    const char *name = ssh_message_channel_request_env_name(message);
    const char *value = ssh_message_channel_request_env_value(message);
    struct buffer *all = &flow->environment;
    if (flow->state != FLOW_OPEN || !name || !value || !*name || strchr(name, '=') ||
        !str_is_utf8(name, strlen(name)) || !str_is_utf8(value, strlen(value)) ||
        flow->variable_count == VARIABLES_MAX ||
        all->size + strlen(name) + strlen(value) + 2 > ENVIRONMENT_MAX)
        return false;
    buffer_printf(all, "%s=%s", name, value);
    buffer_append(all, "", 1);
    flow->variable_count++;
    return true;
}

static bool want(struct flow *flow, enum flow_kind kind, const char *command)
{
    if (flow->state != FLOW_OPEN ||
        (command && (strlen(command) > COMMAND_MAX || !str_is_utf8(command, strlen(command)))))
        return false;
    flow->kind = kind;
    flow->command = xstrdup_or_null(command);
    flow->state = FLOW_WANTED;
    return true;
}

static bool take_request(struct flow *flow, ssh_message message)
{
    switch (ssh_message_subtype(message)) {
    case SSH_CHANNEL_REQUEST_PTY:
        return take_terminal(flow, message);
    case SSH_CHANNEL_REQUEST_WINDOW_CHANGE:
        return take_size(flow, message);
    case SSH_CHANNEL_REQUEST_ENV:
        return take_variable(flow, message);
    case SSH_CHANNEL_REQUEST_SHELL:
        return want(flow, FLOW_SHELL, NULL);
    case SSH_CHANNEL_REQUEST_EXEC:
        return want(flow, FLOW_COMMAND, ssh_message_channel_request_command(message));
    case SSH_CHANNEL_REQUEST_SUBSYSTEM:
        return str_equal(ssh_message_channel_request_subsystem(message), "sftp") &&
               want(flow, FLOW_FILES, FILES_COMMAND);
    default:
        return false;
    }
}

static void on_request(struct session *session, ssh_message message)
{
    struct flow *flow = find(session, ssh_message_channel_request_channel(message));
    if (flow && take_request(flow, message))
        ssh_message_channel_request_reply_success(message);
    else
        ssh_message_reply_default(message);
}

/* Answer a request for a channel. Returns whether the message was taken over. */
static bool on_open(struct session *session, ssh_message message)
{
    bool has_room = session->authenticated && session->flow_count < session->flows_max;
    if (has_room && ssh_message_subtype(message) == SSH_CHANNEL_DIRECT_TCPIP) {
        forward_open(session, message);
        return true;
    }
    if (has_room && ssh_message_subtype(message) == SSH_CHANNEL_SESSION) {
        ssh_channel ssh = ssh_message_channel_request_open_reply_accept(message);
        if (ssh)
            flow_new(session, ssh);
        return false;
    }
    ssh_message_reply_default(message);
    return false;
}

static void on_global(struct session *session, ssh_message message)
{
    int kind = ssh_message_subtype(message);
    bool is_done = kind == SSH_GLOBAL_REQUEST_TCPIP_FORWARD ? listening_open(session, message)
                   : kind == SSH_GLOBAL_REQUEST_CANCEL_TCPIP_FORWARD
                       ? listening_cancel(session, message)
                       : false;
    if (!is_done)
        ssh_message_reply_default(message);
}

/* Answer one message. Returns whether the message was taken over. */
static bool take(struct session *session, ssh_message message)
{
    switch (ssh_message_type(message)) {
    case SSH_REQUEST_SERVICE:
        if (str_equal(ssh_message_service_service(message), "ssh-userauth"))
            ssh_message_service_reply_success(message);
        else
            ssh_message_reply_default(message);
        return false;
    case SSH_REQUEST_AUTH:
        authenticate(session, message);
        return false;
    case SSH_REQUEST_CHANNEL_OPEN:
        return on_open(session, message);
    case SSH_REQUEST_CHANNEL:
        on_request(session, message);
        return false;
    case SSH_REQUEST_GLOBAL:
        on_global(session, message);
        return false;
    default:
        ssh_message_reply_default(message);
        return false;
    }
}

int messages_take(struct session *session)
{
    ssh_message message;
    for (int i = 0; i < MESSAGES_MAX && !session->over; i++) {
        message = ssh_message_get(session->ssh);
        if (!message)
            break;
        if (!take(session, message))
            ssh_message_free(message);
    }
    int status = ssh_get_status(session->ssh);
    bool is_closed = status & (SSH_CLOSED | SSH_CLOSED_ERROR) || !ssh_is_connected(session->ssh);
    return session->over || is_closed ? -1 : 0;
}
