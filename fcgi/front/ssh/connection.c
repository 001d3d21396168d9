/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "ssh/listener.h"
#include "ssh/wire.h"

/* From the request to end until SIGKILL. */
#define END_WAIT_MS 5000

static void on_message(struct loop_source *source, uint32_t events);

static const struct settings *settings_of(const struct connection *connection)
{
    return connection->listener->worker.settings;
}

static bool is_signed_in(const struct connection *connection)
{
    return *connection->login.user_id;
}

static void kill_now(struct loop_timer *timer)
{
    struct connection *connection = container_of(timer, struct connection, end);
    kill(connection->pid, SIGKILL);
}

void connection_end(struct connection *connection, const char *why)
{
    error_auto ignored = NULL;
    if (connection->told_to_end)
        return;
    connection->told_to_end = true;
    wire_send(connection->wire.fd, json_pack("{s:s}", "end", why), &ignored);
    loop_timer_arm(&connection->listener->loop, &connection->end,
                   clock_monotonic_ms() + END_WAIT_MS, kill_now);
}

static void on_time_over(struct loop_timer *timer)
{
    struct connection *connection = container_of(timer, struct connection, end);
    connection_end(connection, is_signed_in(connection)
                                   ? "the session has reached the time limit (ssh_session_max_s)"
                                   : "no user signed in in time (ssh_login_grace_s)");
}

/* --- answers --- */

static const char *text_of(const json_t *message, const char *name)
{
    const char *text = json_string_value(json_object_get(message, name));
    return text ? text : "";
}

/* A client's key or certificate, and the login that it gives. */
struct proof {
    char fingerprint[SSH_FINGERPRINT_SIZE]; /* of the key's row in the database */
    struct ssh_certificate certificate;     /* allows everything when the client has a key */
    struct ssh_login login;
};

static int check_certificate(struct connection *connection, const char *base64,
                             struct ssh_certificate *certificate, struct error **err)
{
    return ssh_certificate_check(&connection->listener->authorities,
                                 settings_of(connection)->ssh_principal_prefix, base64,
                                 clock_now_ms(), certificate, err);
}

/* Check whether a key or certificate could sign a user in. Errors: ERR_UNAUTHORIZED, those of
 * db_query(). */
static int find_proof(struct connection *connection, const json_t *message, struct error **err)
{
    const struct worker *worker = &connection->listener->worker;
    const char *base64 = text_of(message, "certificate");
    struct ssh_certificate certificate;
    struct ssh_login login;
    struct user user;
    if (!*base64)
        return ssh_login_find(worker->db, text_of(message, "fingerprint"), &login, err);
    if (check_certificate(connection, base64, &certificate, err) < 0)
        return -1;
    return ssh_certificate_user(worker->db, &certificate, &user, err);
}

/* Find the login of a key or certificate, after the client has proved that it owns the private
 * key. */
static int accept_proof(struct connection *connection, const json_t *message, struct proof *proof,
                        struct error **err)
{
    const struct worker *worker = &connection->listener->worker;
    const char *base64 = text_of(message, "certificate");
    *proof = (struct proof){.certificate = {.allows_terminals = true, .allows_ports = true}};
    snprintf(proof->fingerprint, sizeof proof->fingerprint, "%s", text_of(message, "fingerprint"));
    if (!*base64)
        return ssh_login_find(worker->db, proof->fingerprint, &proof->login, err);
    if (check_certificate(connection, base64, &proof->certificate, err) < 0)
        return -1;
    return ssh_certificate_login(worker->db, worker->ring, &proof->certificate, proof->fingerprint,
                                 &proof->login, err);
}

static json_t *answer_key(struct connection *connection, const json_t *message)
{
    struct listener *listener = connection->listener;
    error_auto err = NULL;
    if (find_proof(connection, message, &err) == 0)
        return json_pack("{s:b}", "known", 1);
    if (err->code != ERR_UNAUTHORIZED)
        log_warning("cannot check an SSH key; refusing it", LOG_STR("address", connection->address),
                    LOG_ERROR(err));
    else if (listener->authorities.count && *text_of(message, "certificate"))
        log_info("SSH certificate refused", LOG_STR("address", connection->address),
                 LOG_STR("reason", err->message));
    throttle_count(&listener->tries, connection->network, settings_of(connection)->ssh_refusal_rate,
                   clock_monotonic_ms());
    return json_pack("{s:b}", "known", 0);
}

static json_t *refuse(const struct connection *connection, const struct ssh_login *login,
                      const char *why)
{
    log_info("SSH session refused", LOG_STR("address", connection->address),
             LOG_STR("key", login->key_id), LOG_STR("user", login->user_name),
             LOG_STR("reason", why));
    return json_pack("{s:s}", "refused", why);
}

static void note_login(struct connection *connection, const struct proof *proof)
{
    const struct settings *settings = settings_of(connection);
    const struct ssh_login *login = &proof->login;
    char serial[24] = "";
    connection->login = *login;
    memcpy(connection->fingerprint, proof->fingerprint, sizeof connection->fingerprint);
    loop_timer_arm(&connection->listener->loop, &connection->end,
                   connection->began_at_ms + (int64_t)settings->ssh_session_max_s * 1000,
                   on_time_over);
    if (proof->certificate.authority)
        snprintf(serial, sizeof serial, "%" PRIu64, proof->certificate.serial);
    log_info("SSH session started", LOG_STR("address", connection->address),
             LOG_STR("key", login->key_id), LOG_STR("user", login->user_name),
             LOG_STR("certificate", proof->certificate.label), LOG_STR("serial", serial));
}

static json_t *answer_login(struct connection *connection, const json_t *message)
{
    struct listener *listener = connection->listener;
    struct proof proof;
    const struct ssh_login *login = &proof.login;
    char token[SSH_TOKEN_SIZE];
    error_auto err = NULL;
    if (is_signed_in(connection))
        return refuse(connection, &connection->login,
                      "This connection has a signed-in user already.");
    if (accept_proof(connection, message, &proof, &err) < 0)
        return refuse(connection, login, err->message);
    const char *why = limit_of_key(listener, login);
    if (why)
        return refuse(connection, login, why);
    if (ssh_token_make(listener->worker.ring, login, settings_of(connection)->ssh_session_max_s,
                       token, &err) < 0)
        return refuse(connection, login, err->message);
    note_login(connection, &proof);
    json_t *answer =
        json_pack("{s:s, s:s, s:s, s:b, s:b}", "token", token, "user", login->user_name, "key",
                  login->key_id, "terminals", (int)proof.certificate.allows_terminals, "ports",
                  (int)proof.certificate.allows_ports);
    mem_wipe(token, sizeof token);
    return answer;
}

static json_t *answer_enter(struct connection *connection, const char *sandbox, const char *team)
{
    const struct ssh_login *login = &connection->login;
    if (!is_signed_in(connection) || !id_is_valid("sbx_", sandbox) || !slug_is_valid(team))
        return refuse(connection, login, "No user has signed in on this connection.");
    const char *why = limit_of_team(connection->listener, team);
    if (why)
        return refuse(connection, login, why);
    snprintf(connection->team, sizeof connection->team, "%s", team);
    snprintf(connection->sandbox, sizeof connection->sandbox, "%s", sandbox);
    log_info("SSH session enters a sandbox", LOG_STR("address", connection->address),
             LOG_STR("key", login->key_id), LOG_STR("user", login->user_name),
             LOG_STR("sandbox", sandbox));
    return json_object();
}

static json_t *answer_leave(const struct connection *connection)
{
    const struct connection *one;
    bool alone = true;
    LIST_FOREACH(one, &connection->listener->connections, entry)
    alone &= one == connection || !*connection->sandbox ||
             strcmp(one->sandbox, connection->sandbox) != 0;
    return json_pack("{s:b}", "alone", alone);
}

static json_t *answer(struct connection *connection, const json_t *message)
{
    const char *ask = text_of(message, "ask");
    if (str_equal(ask, "key"))
        return answer_key(connection, message);
    if (str_equal(ask, "login"))
        return answer_login(connection, message);
    if (str_equal(ask, "enter"))
        return answer_enter(connection, text_of(message, "sandbox"), text_of(message, "team"));
    if (str_equal(ask, "leave"))
        return answer_leave(connection);
    return NULL;
}

static void on_message(struct loop_source *source, uint32_t events)
{
    struct connection *connection = container_of(source, struct connection, wire);
    json_auto_t *message = NULL;
    error_auto err = NULL;
    (void)events;
    int rc = wire_receive(source->fd, 0, &message, &err);
    if (rc == 0)
        return;
    json_t *said = rc > 0 ? answer(connection, message) : NULL;
    if (said && wire_send(source->fd, said, &err) == 0)
        return;
    /* The process is ending, or a client has taken it over. */
    loop_close(&connection->listener->loop, source);
    kill(connection->pid, SIGTERM);
    loop_timer_arm(&connection->listener->loop, &connection->end,
                   clock_monotonic_ms() + END_WAIT_MS, kill_now);
}

/* --- beginning and end --- */

static json_t *first_words(const struct connection *connection)
{
    const struct settings *settings = settings_of(connection);
    return json_pack("{s:s, s:s, s:i, s:s, s:s, s:i, s:i, s:i}", "host_key",
                     connection->listener->host_key, "address", connection->address, "port",
                     (int)connection->port, "api_url", settings->base_url, "ca_file",
                     settings->ssh_ca_file, "grace_s", (int)settings->ssh_login_grace_s, "keep_s",
                     (int)settings->ssh_keep_s, "channels", (int)settings->ssh_channels);
}

static int start(struct connection *connection, int client_fd, struct error **err)
{
    struct loop *loop = &connection->listener->loop;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot create a pair of sockets");
    int result = spawn_session(connection->listener, client_fd, pair[1], &connection->pid, err);
    close(pair[1]);
    if (result < 0 || loop_add(loop, &connection->wire, pair[0], EPOLLIN, on_message) < 0) {
        close(pair[0]);
        return result < 0 ? -1
                          : error_set_errno(err, ERR_INTERNAL, errno,
                                            "cannot watch the process of the connection");
    }
    return wire_send(connection->wire.fd, first_words(connection), err);
}

void connection_new(struct listener *listener, int fd, const char *address, const char *network,
                    uint16_t port)
{
    error_auto err = NULL;
    autoclose int client_fd = fd;
    const char *why = limit_of_address(listener, network);
    if (why) {
        log_info("SSH connection refused", LOG_STR("address", address), LOG_STR("reason", why));
        return;
    }
    struct connection *connection = xcalloc(1, sizeof *connection);
    connection->listener = listener;
    connection->wire.fd = -1;
    connection->port = port;
    connection->began_at_ms = clock_monotonic_ms();
    snprintf(connection->address, sizeof connection->address, "%s", address);
    snprintf(connection->network, sizeof connection->network, "%s", network);
    connection->rank = limit_rank(listener, client_network_wide(address, connection->site));
    LIST_INSERT_HEAD(&listener->connections, connection, entry);
    listener->connection_count++;
    loop_timer_arm(&listener->loop, &connection->end,
                   connection->began_at_ms +
                       (int64_t)listener->worker.settings->ssh_login_grace_s * 1000,
                   on_time_over);
    if (start(connection, client_fd, &err) < 0) {
        log_error("cannot serve an SSH connection; closing it", LOG_STR("address", address),
                  LOG_ERROR(err));
        if (connection->pid > 0)
            kill(connection->pid, SIGKILL);
        else
            connection_gone(connection, 0);
    }
    struct connection *stranger = limit_of_strangers(listener);
    if (stranger) {
        stranger->told_to_end = true;
        kill(stranger->pid, SIGKILL);
    }
}

void connection_gone(struct connection *connection, int wait_status)
{
    struct listener *listener = connection->listener;
    const struct ssh_login *login = &connection->login;
    int64_t duration_ms = clock_monotonic_ms() - connection->began_at_ms;
    if (is_signed_in(connection))
        log_info("SSH session ended", LOG_STR("address", connection->address),
                 LOG_STR("key", login->key_id), LOG_STR("user", login->user_name),
                 LOG_STR("sandbox", connection->sandbox), LOG_INT("duration_ms", duration_ms),
                 LOG_INT("signal", WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0));
    else
        log_info("SSH connection ended before a sign-in", LOG_STR("address", connection->address),
                 LOG_INT("duration_ms", duration_ms),
                 LOG_INT("signal", WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0));
    loop_close(&listener->loop, &connection->wire);
    loop_timer_disarm(&listener->loop, &connection->end);
    LIST_REMOVE(connection, entry);
    listener->connection_count--;
    free(connection);
}
