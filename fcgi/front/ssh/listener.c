/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ssh/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "account/access_revision.h"
#include "account/access_teams.h"
#include "base/client_network.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#define BACKLOG      256
#define CHECK_MS     1000 /* between two checks of the keys of sessions */
#define END_WAIT_MS  8000
#define HOST_KEY_MAX (16 * 1024)
#define IDLE_S       60 /* before the first probe of a silent peer */
#define PROBE_S      15
#define PROBES       4

/* --- set-up --- */

static int find_user(struct listener *listener, const char *name, struct error **err)
{
    const struct passwd *entry = getpwnam(name);
    if (!entry)
        return error_set(err, ERR_CONFIG, "the user %s (ssh_user) does not exist", name);
    if (!entry->pw_uid || entry->pw_uid == geteuid())
        return error_set(
            err, ERR_CONFIG,
            "ssh_user %s must be a separate user, not root or the user that reads the key ring",
            name);
    listener->user = entry->pw_uid;
    listener->group = entry->pw_gid;
    return 0;
}

static int read_host_key(struct listener *listener, const char *path, struct error **err)
{
    struct stat stat;
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &stat) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read the host key %s", path);
    if (stat.st_mode & 07)
        return error_set(err, ERR_CONFIG,
                         "every user can read or write the host key %s: run chmod 0600 on it",
                         path);
    listener->host_key = xcalloc(1, HOST_KEY_MAX + 1);
    ssize_t size = read(fd, listener->host_key, HOST_KEY_MAX);
    if (size <= 0 || !str_starts_with(listener->host_key, "-----BEGIN"))
        return error_set(err, ERR_CONFIG, "%s is not a private key", path);
    return 0;
}

static int open_socket(int family, uint16_t port, struct error **err)
{
    const int on = 1, idle = IDLE_S, probe = PROBE_S, probes = PROBES;
    struct sockaddr_storage any = {.ss_family = (sa_family_t)family};
    if (family == AF_INET6)
        ((struct sockaddr_in6 *)&any)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)&any)->sin_port = htons(port);
    autoclose int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot create a socket for SSH");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    /* Accepted sockets inherit these options. */
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &probe, sizeof probe);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    socklen_t size = family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    if (bind(fd, (struct sockaddr *)&any, size) < 0 || listen(fd, BACKLOG) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot listen on port %u", port);
    return steal_fd(&fd);
}

/* --- accepting --- */

/* Format the address of a peer, and the network that the limits count. Returns the port. */
static uint16_t name_peer(const struct sockaddr_storage *peer, char address[ADDRESS_SIZE],
                          char network[CLIENT_NETWORK_SIZE])
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)peer;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)peer;
    bool is_v6 = peer->ss_family == AF_INET6;
    inet_ntop(peer->ss_family, is_v6 ? (const void *)&v6->sin6_addr : &v4->sin_addr, address,
              ADDRESS_SIZE);
    client_network(address, network);
    return ntohs(is_v6 ? v6->sin6_port : v4->sin_port);
}

static void on_socket(struct loop_source *source, uint32_t events)
{
    struct listening *listening = container_of(source, struct listening, socket.source);
    struct listener *listener = listening->listener;
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    char address[ADDRESS_SIZE] = "", network[CLIENT_NETWORK_SIZE] = "";
    (void)events;
    int fd = loop_accept(&listener->loop, &listening->socket, (struct sockaddr *)&peer, &size,
                         SOCK_CLOEXEC);
    if (fd >= 0) {
        uint16_t port = name_peer(&peer, address, network);
        connection_new(listener, fd, address, network, port);
    } else if (errno) {
        log_error("cannot accept an SSH connection", LOG_STR("reason", strerror(errno)));
    }
}

/* --- signals and checks --- */

static struct connection *find_pid(struct listener *listener, pid_t pid)
{
    struct connection *one;
    LIST_FOREACH(one, &listener->connections, entry)
    if (one->pid == pid)
        return one;
    return NULL;
}

static void on_signal(struct loop_source *source, uint32_t events)
{
    struct listener *listener = container_of(source, struct listener, signals);
    struct signalfd_siginfo info;
    pid_t pid;
    int status;
    (void)events;
    while (read(source->fd, &info, sizeof info) == sizeof info) {
        listener->stopping |= info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT ||
                              info.ssi_signo == SIGQUIT; /* from multiwatch 1.0 */
        if (info.ssi_signo == SIGHUP)
            log_reopen();
    }
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        struct connection *connection = find_pid(listener, pid);
        if (connection)
            connection_gone(connection, status);
    }
}

/* Return whether the key still gives access to the team that owns the connection's sandbox. */
static bool reaches_team(const struct connection *one)
{
    struct principal principal;
    error_auto err = NULL;
    bool reaches = !*one->team;
    if (access_teams_read(one->listener->worker.db, one->login.key_id, &principal, &err) < 0)
        return true; /* the next check decides */
    for (unsigned i = 0; i < principal.team_count && !reaches; i++)
        reaches = str_equal(principal.teams[i].slug, one->team);
    principal_deinit(&principal);
    return reaches;
}

static void check(struct connection *one)
{
    struct ssh_login login;
    error_auto err = NULL;
    if (ssh_login_find(one->listener->worker.db, one->fingerprint, &login, &err) < 0) {
        if (err->code == ERR_UNAUTHORIZED)
            connection_end(one, "the SSH key was removed or has expired");
    } else if (!reaches_team(one)) {
        connection_end(one, "the SSH key no longer reaches the team of the sandbox");
    }
}

static bool has_expired(const struct connection *one)
{
    return one->login.expires_at_ms && one->login.expires_at_ms <= clock_now_ms();
}

/* Check the keys of users whose access has changed, and keys that expire. */
static void on_check(struct loop_timer *timer)
{
    struct listener *listener = container_of(timer, struct listener, check);
    struct access_changes changes;
    struct connection *one;
    uint64_t revision = 0;
    error_auto err = NULL;
    if (access_revision_get(listener->worker.db, &revision, &err) == 0 &&
        access_changes_read(listener->worker.db, listener->checked, revision, &changes, &err) ==
            0) {
        listener->checked = revision;
        LIST_FOREACH(one, &listener->connections, entry)
        if (*one->login.user_id && !one->told_to_end &&
            (access_changes_concern(&changes, one->login.user_id) || has_expired(one)))
            check(one);
    }
    loop_timer_arm(&listener->loop, timer, clock_monotonic_ms() + CHECK_MS, on_check);
}

/* --- run --- */

static int watch_signals(struct listener *listener, struct error **err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGQUIT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0 || loop_add(&listener->loop, &listener->signals, fd, EPOLLIN, on_signal) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot watch signals");
    return 0;
}

static int watch_socket(struct listener *listener, struct listening *listening, int family,
                        struct error **err)
{
    int fd = open_socket(family, (uint16_t)listener->worker.settings->ssh_port, err);
    if (fd < 0)
        return -1;
    listening->listener = listener;
    if (loop_add(&listener->loop, &listening->socket.source, fd, EPOLLIN, on_socket) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot watch the socket");
    return 0;
}

static int open_worker(struct listener *listener, const struct settings *settings,
                       struct error **err)
{
    if (worker_open(settings, "sandlot-ssh", &listener->worker, err) < 0)
        return -1;
    return db_check_statements(listener->worker.db, err);
}

int listener_open(struct listener *listener, const struct settings *settings, struct error **err)
{
    *listener = (struct listener){.signals.fd = -1};
    for (size_t i = 0; i < LISTENERS_MAX; i++)
        listener->sockets[i].socket.source.fd = -1;
    LIST_INIT(&listener->connections);
    if (find_user(listener, settings->ssh_user, err) < 0 ||
        read_host_key(listener, settings->ssh_host_key_file, err) < 0 ||
        (*settings->ssh_user_ca_file &&
         ssh_authorities_read(settings->ssh_user_ca_file, &listener->authorities, err) < 0) ||
        open_worker(listener, settings, err) < 0)
        return -1;
    if (loop_init(&listener->loop) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot create an event loop");
    if (watch_signals(listener, err) < 0 ||
        watch_socket(listener, &listener->sockets[0], AF_INET, err) < 0)
        return -1;
    if (settings_listen_ipv6(settings) &&
        watch_socket(listener, &listener->sockets[1], AF_INET6, err) < 0)
        return -1;
    loop_timer_arm(&listener->loop, &listener->check, clock_monotonic_ms() + CHECK_MS, on_check);
    return 0;
}

static void end_all(struct listener *listener)
{
    struct connection *one;
    int64_t until_ms = clock_monotonic_ms() + END_WAIT_MS;
    for (size_t i = 0; i < LISTENERS_MAX; i++)
        loop_listener_close(&listener->loop, &listener->sockets[i].socket);
    LIST_FOREACH(one, &listener->connections, entry)
    connection_end(one, "sandlot-ssh is stopping");
    while (listener->connection_count && clock_monotonic_ms() < until_ms)
        if (loop_run_once(&listener->loop, 200) < 0)
            return;
}

void listener_run(struct listener *listener)
{
    log_info("listening", LOG_INT("port", listener->worker.settings->ssh_port));
    while (!listener->stopping && loop_run_once(&listener->loop, -1) == 0)
        ;
    end_all(listener);
    log_info("stopping");
}

void listener_close(struct listener *listener)
{
    mem_wipe_free(listener->host_key);
    ssh_authorities_deinit(&listener->authorities);
    worker_close(&listener->worker);
}
