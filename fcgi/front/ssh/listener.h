/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The SSH entry point's keeper of keys. It accepts connections, starts a process of another user
 * for each (sandlot-ssh-session), and answers what that asks. Of a client it reads the certificate
 * alone, and only where ssh_user_ca_file is set. What else it reads are the messages of those
 * processes, which it checks like bytes from outside.
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
    struct loop_source source;
    struct listener *listener;
};

/* One connection and its process. */
struct connection {
    LIST_ENTRY(connection) entry;
    struct listener *listener;
    struct loop_source wire;
    struct loop_timer end; /* of the time that it may last */
    pid_t pid;
    char address[ADDRESS_SIZE], network[CLIENT_NETWORK_SIZE]; /* the latter counts */
    uint16_t port;
    struct ssh_login login; /* user_id "": nobody has signed in */
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
    struct loop_timer check, rest;
    uint64_t checked; /* the access revision at which connections were checked last */
    unsigned looks;
    LIST_HEAD(, connection) connections;
    size_t connection_count;
    struct throttle tries;
    struct ssh_authorities authorities; /* none: no certificates */
    char *host_key;                     /* wiped */
    uid_t user;
    gid_t group;
    bool stopping;
};

/* Make everything ready: database, key ring, host key, sockets. Errors: ERR_CONFIG… */
int listener_open(struct listener *listener, const struct settings *settings, struct error **err);

/* Serve until SIGTERM or SIGINT, then end the connections. */
void listener_run(struct listener *listener);
void listener_close(struct listener *listener);

/* --- connection.c --- */

/* Take a connection that was accepted, or close it. fd is taken over. */
void connection_new(struct listener *listener, int fd, const char *address, const char *network,
                    uint16_t port);

/* Tell it why it ends; by force if it does not. */
void connection_end(struct connection *connection, const char *why);

/* Its process is gone. */
void connection_gone(struct connection *connection, int wait_status);

/* --- limits.c: each returns why not, or NULL --- */

/* Another connection of that address, or network of IPv6. */
const char *limit_of_address(struct listener *listener, const char *network);
/* Of those that nobody has signed in on, the oldest, when they have half of all places. */
struct connection *limit_of_strangers(struct listener *listener);
/* Another session of that key and that user. */
const char *limit_of_key(struct listener *listener, const struct ssh_login *login);
/* Another session in sandboxes of that team. */
const char *limit_of_team(struct listener *listener, const char *team);

/* --- spawn.c --- */

/* Start the process of a connection with its two descriptors. Errors: as they come. */
int spawn_session(const struct listener *listener, int client_fd, int wire_fd, pid_t *pid,
                  struct error **err);
