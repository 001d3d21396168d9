/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sandlot-ssh-session: one SSH connection, started by sandlot-ssh. */
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ssh/session/session.h"
#include "ssh/wire.h"

#define FIRST_WAIT_MS 5000
#define TURN_MS       1000
#define LEAVE_WAIT_MS 3000
#define FLUSH_WAIT_MS 1000
#define NOTICE_MAX    4096
#define POLLS_MAX     (3 + 3 * 64 + LISTENINGS_MAX)

/* --- set-up --- */

static char *text_of(const json_t *message, const char *name)
{
    const char *text = json_string_value(json_object_get(message, name));
    return text && *text ? xstrdup(text) : NULL;
}

static int number_of(const json_t *message, const char *name)
{
    return (int)json_integer_value(json_object_get(message, name));
}

static ssh_key take_host_key(json_t *message)
{
    ssh_key key = NULL;
    json_t *text = json_object_get(message, "host_key");
    const char *pem = json_string_value(text);
    if (pem && ssh_pki_import_privkey_base64(pem, NULL, NULL, NULL, &key) == SSH_OK)
        mem_wipe((char *)pem, strlen(pem));
    return key;
}

static int take_first_words(struct session *session, ssh_key *host_key)
{
    json_auto_t *message = NULL;
    error_auto err = NULL;
    if (wire_receive(WIRE_FD, FIRST_WAIT_MS, &message, &err) <= 0)
        return -1;
    *host_key = take_host_key(message);
    autofree char *address = text_of(message, "address");
    snprintf(session->address, sizeof session->address, "%s", address ? address : "");
    session->port = number_of(message, "port");
    session->setting.url = text_of(message, "api_url");
    session->setting.ca_file = text_of(message, "ca_file");
    session->keep_s = (unsigned)number_of(message, "keep_s");
    session->flows_max = (unsigned)number_of(message, "channels");
    alarm((unsigned)number_of(message, "grace_s"));
    return *host_key && session->setting.url ? 0 : -1;
}

/* Exchange keys with the client. libssh takes over the key and the socket. */
static int exchange_keys(struct session *session, ssh_key host_key)
{
    const bool no = false;
    ssh_bind bind = ssh_bind_new();
    session->ssh = ssh_new();
    if (!bind || !session->ssh ||
        ssh_bind_options_set(bind, SSH_BIND_OPTIONS_PROCESS_CONFIG, &no) < 0 ||
        ssh_bind_options_set(bind, SSH_BIND_OPTIONS_BANNER, "sandlot") < 0 ||
        ssh_bind_options_set(bind, SSH_BIND_OPTIONS_IMPORT_KEY, host_key) < 0 ||
        ssh_bind_accept_fd(bind, session->ssh, STDIN_FILENO) != SSH_OK)
        return -1;
    ssh_set_auth_methods(session->ssh, SSH_AUTH_METHOD_PUBLICKEY);
    int rc = ssh_handle_key_exchange(session->ssh);
    ssh_bind_free(bind);
    ssh_set_blocking(session->ssh, 0);
    return rc == SSH_OK ? 0 : -1;
}

static int watch_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* --- the loop --- */

static void reap(struct session *session)
{
    struct flow *one;
    struct listening *listening;
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        LIST_FOREACH(one, &session->flows, entry)
        if (one->child.pid == pid)
            flow_reaped(one, status);
        LIST_FOREACH(listening, &session->listenings, entry)
        listening->is_reaped |= listening->child.pid == pid;
    }
}

static void take_signals(struct session *session, int fd)
{
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof info) == sizeof info)
        if (info.ssi_signo == SIGTERM)
            session->over = session->cut = true;
    reap(session);
}

static void take_word(struct session *session)
{
    json_auto_t *message = NULL;
    error_auto err = NULL;
    int rc = wire_receive(WIRE_FD, 0, &message, &err);
    if (rc > 0)
        take_end(session, message);
    session->cut |= rc < 0 || session->end_reason;
    session->over |= session->cut;
}

static nfds_t add_poll(struct pollfd *polls, nfds_t count, int fd, short events)
{
    if (fd >= 0 && events)
        polls[count++] = (struct pollfd){.fd = fd, .events = events};
    return count;
}

static bool takes(const struct flow *flow, const struct buffer *waiting)
{
    return flow->state == FLOW_ASKING ||
           (flow->state == FLOW_RUNNING && !waiting->size && flow_has_room(flow) &&
            ssh_channel_window_size(flow->ssh) > 0);
}

static nfds_t add_flow(struct pollfd *polls, nfds_t count, const struct flow *flow)
{
    const struct child *child = &flow->child;
    bool takes_output = takes(flow, &flow->to_client[0]);
    bool takes_errors = takes(flow, &flow->to_client[1]);
    short in = flow->to_child.size ? POLLOUT : 0;
    short out = takes_output ? POLLIN : 0;
    if (child->in == child->out)
        return add_poll(polls, count, child->in, (short)(in | out));
    count = add_poll(polls, count, child->in, in);
    count = add_poll(polls, count, child->out, out);
    return add_poll(polls, count, child->err, takes_errors ? POLLIN : 0);
}

static void wait_a_while(struct session *session, int signal_fd)
{
    struct pollfd polls[POLLS_MAX];
    struct flow *one;
    struct listening *listening;
    short events = POLLIN;
    if (ssh_get_poll_flags(session->ssh) & SSH_WRITE_PENDING)
        events |= POLLOUT;
    nfds_t count = add_poll(polls, 0, signal_fd, POLLIN);
    count = add_poll(polls, count, WIRE_FD, POLLIN);
    count = add_poll(polls, count, ssh_get_fd(session->ssh), events);
    LIST_FOREACH(one, &session->flows, entry)
    count = add_flow(polls, count, one);
    LIST_FOREACH(listening, &session->listenings, entry)
    count = add_poll(polls, count, listening->child.out, listening_hears(listening) ? POLLIN : 0);
    int turn_ms = session->hurried ? 0 : TURN_MS;
    session->hurried = false;
    if (poll(polls, count, turn_ms) <= 0)
        return;
    if (polls[0].revents)
        take_signals(session, signal_fd);
    if (polls[1].revents)
        take_word(session);
}

static void work(struct session *session)
{
    struct flow *one, *next;
    for (one = LIST_FIRST(&session->flows); one; one = next) {
        next = LIST_NEXT(one, entry);
        flow_work(one);
        if (one->state == FLOW_OVER && (one->is_reaped || !one->child.pid))
            flow_free(one);
    }
    struct listening *listening, *next_listening;
    for (listening = LIST_FIRST(&session->listenings); listening; listening = next_listening) {
        next_listening = LIST_NEXT(listening, entry);
        if (!listening_work(listening))
            listening_free(listening);
    }
    sandbox_tend(session);
}

static void serve(struct session *session, int signal_fd)
{
    bool is_timed = true;
    while (!session->over && messages_take(session) == 0) {
        if (session->authenticated && is_timed)
            alarm(0);
        is_timed &= !session->authenticated;
        work(session);
        wait_a_while(session, signal_fd);
    }
}

/* --- the end --- */

static void tell_end(struct session *session)
{
    struct flow *one, *next;
    for (one = LIST_FIRST(&session->flows); session->end_reason && one; one = next) {
        next = LIST_NEXT(one, entry);
        if (one->ssh && one->state != FLOW_OVER)
            flow_fail(one, session->end_reason, 255);
    }
}

/* Kill the processes of flows. Shells and commands continue in the sandbox; files and ports end.
 * Returns whether a shell or command was running. */
static bool let_go(struct session *session)
{
    struct flow *one;
    bool was_cut = false;
    LIST_FOREACH(one, &session->flows, entry)
    {
        bool goes_on = one->kind == FLOW_SHELL || one->kind == FLOW_COMMAND;
        if (!one->child.pid || one->is_reaped || one->kill_at_ms)
            continue;
        was_cut |= goes_on;
        kill(one->child.pid, goes_on ? SIGKILL : SIGTERM);
    }
    return was_cut;
}

/* Close the connection. libssh frees the channels together with the session. */
static void hang_up(struct session *session)
{
    struct flow *one;
    ssh_blocking_flush(session->ssh, FLUSH_WAIT_MS);
    LIST_FOREACH(one, &session->flows, entry)
    {
        if (one->request)
            ssh_message_free(one->request);
        if (one->ssh)
            ssh_channel_free(one->ssh);
        one->request = NULL;
        one->ssh = NULL;
    }
    ssh_disconnect(session->ssh);
}

static bool all_reaped(const struct session *session)
{
    struct flow *one;
    LIST_FOREACH(one, &session->flows, entry)
    if (one->child.pid && !one->is_reaped)
        return false;
    return true;
}

static void leave(struct session *session)
{
    int64_t until_ms = clock_monotonic_ms() + LEAVE_WAIT_MS;
    tell_end(session);
    while (!LIST_EMPTY(&session->listenings))
        listening_free(LIST_FIRST(&session->listenings));
    bool was_cut = let_go(session) || session->cut;
    hang_up(session);
    for (reap(session); !all_reaped(session) && clock_monotonic_ms() < until_ms; reap(session))
        clock_sleep_ms(20);
    sandbox_leave(session, was_cut);
    while (!LIST_EMPTY(&session->flows))
        flow_free(LIST_FIRST(&session->flows));
}

static void wipe(struct session *session)
{
    mem_wipe_free(session->setting.key);
    mem_wipe_free(session->setting.session_token);
    free(session->setting.session_url);
    free(session->setting.url);
    free(session->setting.ca_file);
    free(session->end_reason);
    buffer_deinit(&session->notice);
    error_clear(&session->target_error);
    target_deinit(&session->target);
    ssh_free(session->ssh);
}

int main(void)
{
    static struct session session;
    ssh_key host_key = NULL;
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    LIST_INIT(&session.flows);
    LIST_INIT(&session.listenings);
    buffer_init(&session.notice, NOTICE_MAX);
    if (sodium_init() < 0 || ssh_init() != SSH_OK || take_first_words(&session, &host_key) < 0)
        return 1;
    int signal_fd = watch_signals();
    if (signal_fd < 0 || exchange_keys(&session, host_key) < 0)
        return 1;
    serve(&session, signal_fd);
    alarm(0);
    leave(&session);
    wipe(&session);
    ssh_finalize();
    return 0;
}
