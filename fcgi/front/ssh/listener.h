/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The SSH entry point: accept connections and hold the keys.
 *
 * The listener starts a process of another user for each connection (sandlot-ssh-session) and
 * answers its questions. It reads nothing from clients except certificates, and these only with
 * ssh_user_ca_file. It checks the messages of the session processes like input from outside.
 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "account/ssh_certificate.h"
#include "base/client_network.h"
#include "base/loop.h"
#include "base/throttle.h"
#include "worker/worker.h"

#define LISTENERS_MAX 2
#define ADDRESS_SIZE  46 /* INET6_ADDRSTRLEN */

struct listening {
    struct loop_listener socket;
    struct listener *listener;
};

/* One connection and its process. */
struct connection {
    LIST_ENTRY(connection) entry;
    struct listener *listener;
    struct loop_source wire;
    struct loop_timer end; /* the end of the login grace time, then of the longest session */
    pid_t pid;
    char address[ADDRESS_SIZE], network[CLIENT_NETWORK_SIZE]; /* the limits count by network */
    char site[CLIENT_NETWORK_SIZE]; /* client_network_wide() of the address */
    uint16_t port;
    size_t rank;            /* other connections of the site without a login, when it came */
    struct ssh_login login; /* user_id "": the client has not signed in */
    char fingerprint[SSH_FINGERPRINT_SIZE];
    char team[SLUG_MAX + 1], sandbox[ID_SIZE];
    int64_t began_at_ms; /* monotonic */
    bool told_to_end;
};

struct listener {
    struct worker worker;
    struct loop loop;
    struct listening sockets[LISTENERS_MAX];
    struct loop_source signals;
    struct loop_timer check;
    uint64_t checked; /* the access revision of the last check */
    LIST_HEAD(, connection) connections;
    size_t connection_count;
    struct throttle tries;
    struct ssh_authorities authorities; /* empty: certificates are not accepted */
    char *host_key;                     /* wiped */
    uid_t user;
    gid_t group;
    bool stopping;
};

/* Open the database, key ring, host key and sockets. Errors: ERR_CONFIG and others. */
int listener_open(struct listener *listener, const struct settings *settings, struct error **err);

/* Serve until SIGTERM or SIGINT, then end the connections. */
void listener_run(struct listener *listener);
void listener_close(struct listener *listener);

/* --- connection.c --- */

/* Start a session for an accepted connection, or close it when a limit is reached. Takes fd
 * over. */
void connection_new(struct listener *listener, int fd, const char *address, const char *network,
                    uint16_t port);

/* Send the session the reason for its end. Kill the process if it does not end within 5 s. */
void connection_end(struct connection *connection, const char *why);

/* Free a connection whose process has ended, and log its end. */
void connection_gone(struct connection *connection, int wait_status);

/* --- limits.c: each limit_of_… returns the reason for a refusal, or NULL; the caller refuses
 * --- */

/* Check another connection from an IPv4 address or IPv6 network. */
const char *limit_of_address(struct listener *listener, const char *network);
/* Count the connections of a site without a login. Anybody can get a site of IPv6, which has 65,536
 * networks, so these must not count one by one. */
size_t limit_rank(const struct listener *listener, const char *site);
/* When connections without a login have over half of all places, return the one of the highest
 * rank, the oldest of several; else NULL. */
struct connection *limit_of_strangers(struct listener *listener);
/* Check another session of this key and this user. */
const char *limit_of_key(struct listener *listener, const struct ssh_login *login);
/* Check another session in sandboxes of this team. */
const char *limit_of_team(struct listener *listener, const char *team);

/* --- spawn.c --- */

/* Start the process of a connection with its two descriptors. Errors: ERR_INTERNAL. */
int spawn_session(const struct listener *listener, int client_fd, int wire_fd, pid_t *pid,
                  struct error **err);
