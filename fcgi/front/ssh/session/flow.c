/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "ssh/session/session.h"

#define ENVIRONMENT_ROOM (512 * 1024)
#define END_WAIT_MS      10000
#define ROUNDS_MAX       32
#define PIPE_WIDE        (256 * 1024)
#define NOT_STARTED      255 /* the exit code of OpenSSH's client for its own failures */

#define SHELL            "\"$(command -v bash || echo /bin/sh)\""
#define LOGIN_SHELL      "exec " SHELL " -l"
#define COMMAND_SHELL \
    "c=$SSH_ORIGINAL_COMMAND; unset SSH_ORIGINAL_COMMAND; exec " SHELL " -c \"$c\""

/* --- beginning and end --- */

/* Pass on the signals that the command line passes on to the sandbox. */
static void on_signal(ssh_session ssh, ssh_channel ssh_channel, const char *name, void *context)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {{"HUP", SIGHUP},   {"INT", SIGTERM},  {"TERM", SIGTERM},
                   {"QUIT", SIGQUIT}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}};
    struct flow *flow = context;
    (void)ssh;
    (void)ssh_channel;
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        if (str_equal(signals[i].name, name) && flow->child.pid && !flow->is_reaped)
            kill(flow->child.pid, signals[i].number);
}

struct flow *flow_new(struct session *session, ssh_channel ssh)
{
    struct flow *flow = xcalloc(1, sizeof *flow);
    flow->session = session;
    flow->ssh = ssh;
    flow->child = (struct child){0, -1, -1, -1};
    flow->cols = 80;
    flow->rows = 24;
    buffer_init(&flow->environment, ENVIRONMENT_ROOM);
    buffer_init(&flow->to_child, (size_t)4 * FLOW_PIECE);
    for (int i = 0; i < 2; i++)
        buffer_init(&flow->to_client[i], (size_t)4 * FLOW_PIECE);
    LIST_INSERT_HEAD(&session->flows, flow, entry);
    session->flow_count++;
    if (ssh) {
        flow->callbacks.userdata = flow;
        flow->callbacks.channel_signal_function = on_signal;
        ssh_callbacks_init(&flow->callbacks);
        ssh_set_channel_callbacks(ssh, &flow->callbacks);
    }
    return flow;
}

void flow_free(struct flow *flow)
{
    struct session *session = flow->session;
    child_close(&flow->child);
    if (flow->request)
        ssh_message_free(flow->request);
    if (flow->ssh)
        ssh_channel_free(flow->ssh);
    mem_wipe_free(flow->command);
    free(flow->accepted);
    free(flow->listened);
    free(flow->peer);
    buffer_wipe(&flow->environment);
    buffer_wipe(&flow->to_child);
    for (int i = 0; i < 2; i++)
        buffer_wipe(&flow->to_client[i]);
    LIST_REMOVE(flow, entry);
    session->flow_count--;
    free(flow);
}

bool flow_has_room(const struct flow *flow)
{
    return !(ssh_get_poll_flags(flow->session->ssh) & SSH_WRITE_PENDING);
}

/* Add lines to the errors, with line ends for the user's terminal. */
static void say(struct flow *flow, const char *text)
{
    const char *end = flow->terminal ? "\r\n" : "\n";
    while (*text) {
        size_t size = strcspn(text, "\n");
        buffer_printf(&flow->to_client[1], "%.*s%s", (int)size, text, end);
        text += size + (text[size] == '\n');
    }
}

static void send_exit(struct flow *flow, int exit_code)
{
    if (flow->kind != FLOW_PORT)
        ssh_channel_request_send_exit_status(flow->ssh, exit_code);
    ssh_channel_send_eof(flow->ssh);
    ssh_channel_close(flow->ssh);
    flow->state = FLOW_OVER;
}

void flow_fail(struct flow *flow, const char *message, int exit_code)
{
    autofree char *line = xasprintf("sandlot: %s", message);
    if (!flow->ssh || flow->state == FLOW_OPENING) { /* the client has no answer for the port yet */
        forward_refuse(flow);
        if (flow->child.pid)
            flow_abandon(flow);
        flow->state = FLOW_OVER;
        return;
    }
    say(flow, line);
    ssh_channel_write_stderr(flow->ssh, flow->to_client[1].data, (uint32_t)flow->to_client[1].size);
    send_exit(flow, exit_code);
}

void flow_reaped(struct flow *flow, int wait_status)
{
    flow->is_reaped = true;
    flow->wait_status = wait_status;
}

/* --- starting --- */

static void add_variable(struct flow *flow, const char *name, const char *value)
{
    buffer_printf(&flow->environment, "%s=%s", name, value);
    buffer_append(&flow->environment, "", 1);
}

static void add_usual_variables(struct flow *flow)
{
    const struct session *session = flow->session;
    autofree char *client = xasprintf("%s %d 22", session->address, session->port);
    autofree char *connection = xasprintf("%s %d 127.0.0.1 22", session->address, session->port);
    add_variable(flow, "SSH_CLIENT", client);
    add_variable(flow, "SSH_CONNECTION", connection);
    if (flow->kind == FLOW_COMMAND)
        add_variable(flow, "SSH_ORIGINAL_COMMAND", flow->command);
}

static const char *script_of(const struct flow *flow)
{
    switch (flow->kind) {
    case FLOW_SHELL:
        return LOGIN_SHELL;
    case FLOW_COMMAND:
        return COMMAND_SHELL;
    default:
        return flow->command;
    }
}

/* Attach to a running terminal. This starts nothing in the sandbox. */
static int start_attach(struct flow *flow, struct error **err)
{
    const struct session *session = flow->session;
    struct child_call call = {.words = {"attach", session->sandbox.id},
                              .count = 2,
                              .terminal = flow->terminal,
                              .terminal_kind = flow->terminal ? flow->terminal_kind : NULL,
                              .cols = flow->cols,
                              .rows = flow->rows};
    if (session->target.attach_process)
        child_word(&call, session->target.attach_process);
    return child_start(&session->setting, &call, &flow->child, err);
}

static int start_program(struct flow *flow, struct error **err)
{
    struct child_call call = {
        .words = {"exec", "--env-from", "/dev/fd/4"},
        .count = 3,
        .environment = flow->environment.data,
        .environment_size = flow->environment.size,
        .terminal = flow->terminal,
        .terminal_kind = flow->terminal ? flow->terminal_kind : NULL,
        .cols = flow->cols,
        .rows = flow->rows,
    };
    if (flow->terminal)
        child_word(&call, "--tty");
    if (flow->terminal && flow->kind == FLOW_SHELL && !flow->session->sandbox.is_made)
        child_word(&call, "--tell-left");
    child_word(&call, flow->session->sandbox.id);
    child_word(&call, "/bin/sh");
    child_word(&call, "-c");
    child_word(&call, script_of(flow));
    return child_start(&flow->session->setting, &call, &flow->child, err);
}

static int start_port(struct flow *flow, struct error **err)
{
    char port[8];
    snprintf(port, sizeof port, "%u", flow->port);
    const struct child_call call = {
        .words = {"exec", flow->session->sandbox.id, SANDBOX_AGENT,
                  flow->accepted ? "accepted" : "tcp", flow->accepted ? flow->accepted : port},
        .count = 5,
    };
    return child_start(&flow->session->setting, &call, &flow->child, err);
}

static int start_kind(struct flow *flow, struct error **err)
{
    if (flow->kind == FLOW_PORT)
        return start_port(flow, err);
    if (flow->session->target.attach && flow->kind == FLOW_SHELL)
        return start_attach(flow, err);
    add_usual_variables(flow);
    return start_program(flow, err);
}

static void start(struct flow *flow)
{
    struct buffer *notice = &flow->session->notice;
    error_auto err = NULL;
    if (sandbox_enter(flow->session, &err) < 0 || start_kind(flow, &err) < 0) {
        flow_fail(flow, err->message, NOT_STARTED);
        return;
    }
    if (flow->kind == FLOW_SHELL || flow->kind == FLOW_COMMAND) {
        say(flow, buffer_string(notice));
        buffer_clear(notice);
    }
    flow->state = flow->kind == FLOW_PORT ? FLOW_ASKING : FLOW_RUNNING;
}

/* --- bytes --- */

static void read_client(struct flow *flow)
{
    char piece[FLOW_PIECE];
    while (!flow->input_over && flow->to_child.size < (size_t)3 * FLOW_PIECE) {
        int size = ssh_channel_read_nonblocking(flow->ssh, piece, sizeof piece, 0);
        if (size > 0 && flow->child.in >= 0)
            buffer_append(&flow->to_child, piece, (size_t)size);
        else if (size < 0 || (size == 0 && ssh_channel_is_eof(flow->ssh)))
            flow->input_over = true;
        if (size <= 0)
            break;
    }
    mem_wipe(piece, sizeof piece);
}

static void write_child(struct flow *flow)
{
    struct buffer *waiting = &flow->to_child;
    while (waiting->size && flow->child.in >= 0) {
        ssize_t size = write(flow->child.in, waiting->data, waiting->size);
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
            /* Much input: a wider pipe, so that both processes take turns less often. */
            if (!flow->input_is_wide)
                fcntl(flow->child.in, F_SETPIPE_SZ, PIPE_WIDE);
            flow->input_is_wide = true;
            return;
        }
        if (size < 0) { /* the child has closed its input */
            buffer_clear(waiting);
            child_close_input(&flow->child);
            return;
        }
        buffer_consume(waiting, (size_t)size);
    }
    if (flow->input_over && !waiting->size)
        child_close_input(&flow->child);
}

/* Pass input on for some rounds. libssh may hold more bytes and would not report them again. */
static void take_input(struct flow *flow)
{
    bool is_more = true;
    for (int i = 0; i < ROUNDS_MAX && is_more; i++) {
        read_client(flow);
        is_more = flow->to_child.size != 0;
        write_child(flow);
        is_more &= !flow->to_child.size;
    }
    flow->session->hurried |= is_more;
}

/* Read at most as many bytes as the client's window has room for. */
static void read_child(struct flow *flow, int *fd, struct buffer *waiting)
{
    char piece[FLOW_PIECE];
    uint32_t window = ssh_channel_window_size(flow->ssh);
    size_t most = window < sizeof piece ? window : sizeof piece;
    if (*fd < 0 || waiting->size || !most || !flow_has_room(flow))
        return;
    ssize_t size = read(*fd, piece, most);
    if (size > 0) {
        buffer_append(waiting, piece, (size_t)size);
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
        if (*fd == flow->child.in)
            flow->child.in = -1;
        close(*fd);
        *fd = -1;
    }
    mem_wipe(piece, sizeof piece);
}

static void write_client(struct flow *flow, bool is_error)
{
    struct buffer *waiting = &flow->to_client[is_error];
    if (!waiting->size || !flow_has_room(flow))
        return;
    uint32_t window = ssh_channel_window_size(flow->ssh);
    uint32_t most = waiting->size < window ? (uint32_t)waiting->size : window;
    int size = !most      ? 0
               : is_error ? ssh_channel_write_stderr(flow->ssh, waiting->data, most)
                          : ssh_channel_write(flow->ssh, waiting->data, most);
    if (size <= 0)
        return;
    buffer_consume(waiting, (size_t)size);
    flow->passed += is_error ? 0 : (uint64_t)size;
}

/* Pass on the end of output for a connection from the sandbox: the program in the sandbox may have
 * sent everything and wait for the answer. The agent's program writes the number of bytes to
 * standard error. */
static void pass_end_on(struct flow *flow)
{
    struct buffer *said = &flow->to_client[1];
    autofree char *number = xstrndup(buffer_string(said), strcspn(buffer_string(said), "\n"));
    flow->is_total_known |= said->size && str_parse_u64(number, 0, UINT64_MAX, &flow->total) == 0;
    buffer_clear(said);
    if (flow->is_total_known && flow->passed >= flow->total)
        ssh_channel_send_eof(flow->ssh);
}

/* Pass the client's last input to the sandbox after the client has closed the channel. */
static void finish(struct flow *flow)
{
    char piece[FLOW_PIECE];
    flow->input_over = true;
    write_child(flow);
    while (flow->child.out >= 0 && read(flow->child.out, piece, sizeof piece) > 0)
        ;
    if (!flow->kill_at_ms)
        flow->kill_at_ms = clock_monotonic_ms() + END_WAIT_MS;
    if (flow->is_reaped || clock_monotonic_ms() > flow->kill_at_ms)
        flow_abandon(flow);
}

void flow_abandon(struct flow *flow)
{
    if (!flow->is_reaped)
        kill(flow->child.pid, flow->kind == FLOW_PORT ? SIGTERM : SIGHUP);
    child_close(&flow->child);
    flow->kill_at_ms = clock_monotonic_ms() + END_WAIT_MS;
    flow->state = FLOW_OVER;
}

static bool is_all_said(const struct flow *flow)
{
    return flow->is_reaped && flow->child.out < 0 && flow->child.err < 0 &&
           !flow->to_client[0].size && !flow->to_client[1].size;
}

static void pass_on(struct flow *flow)
{
    bool is_closed = ssh_channel_is_closed(flow->ssh);
    if (is_closed && flow->accepted)
        finish(flow);
    else if (is_closed)
        flow_abandon(flow);
    if (is_closed)
        return;
    take_input(flow);
    read_child(flow, &flow->child.out, &flow->to_client[0]);
    write_client(flow, false);
    read_child(flow, &flow->child.err, &flow->to_client[1]);
    if (flow->accepted)
        pass_end_on(flow);
    else if (flow->kind == FLOW_PORT)
        buffer_clear(&flow->to_client[1]);
    else
        write_client(flow, true);
    if (is_all_said(flow))
        send_exit(flow,
                  WIFEXITED(flow->wait_status) ? WEXITSTATUS(flow->wait_status) : NOT_STARTED);
}

void flow_work(struct flow *flow)
{
    if (flow->state == FLOW_WANTED)
        start(flow);
    if (flow->state == FLOW_ASKING || flow->state == FLOW_OPENING)
        forward_work(flow);
    if (flow->state == FLOW_RUNNING)
        pass_on(flow);
    else if (flow->state == FLOW_OPEN && ssh_channel_is_closed(flow->ssh))
        flow->state = FLOW_OVER;
    if (flow->state == FLOW_OVER && flow->kill_at_ms && !flow->is_reaped &&
        clock_monotonic_ms() > flow->kill_at_ms)
        kill(flow->child.pid, SIGKILL);
}
