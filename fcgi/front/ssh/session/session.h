/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One SSH connection, in a process of its own. libssh speaks with the client; sandlot-ssh
 * (ssh/wire.h) says whose key it is; what the client wants is done by the command line for users
 * (child.h). So this process has a socket, a token of one user, and no rights on the machine.
 */
#pragma once

#include <jansson.h>
#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>
#include <sys/queue.h>

#include "base/buffer.h"
#include "base/ulid.h"
#include "ssh/session/child.h"
#include "ssh/session/target.h"

#define FLOW_PIECE     (32 * 1024)
#define LISTENINGS_MAX 8 /* ports of the sandbox that the client serves */

/* The agent's own program, as each sandbox has it. */
#define SANDBOX_AGENT "/usr/lib/sandlot/sandlot-agent"

enum flow_kind { FLOW_SHELL, FLOW_COMMAND, FLOW_FILES, FLOW_PORT };

enum flow_state {
    FLOW_OPEN,    /* the client has not said what it is for */
    FLOW_WANTED,  /* it has: to be started */
    FLOW_ASKING,  /* a port: whether somebody listens there, or the connection is there still */
    FLOW_OPENING, /* a connection from the sandbox: whether the client takes it */
    FLOW_RUNNING, /* bytes go both ways */
    FLOW_OVER,
};

/* A channel of the client, and the process that it is joined to. */
struct flow {
    LIST_ENTRY(flow) entry;
    struct session *session;
    ssh_channel ssh;     /* NULL as long as a port is asked for */
    ssh_message request; /* the request to open, until it is answered */
    struct ssh_channel_callbacks_struct callbacks;
    enum flow_kind kind;
    enum flow_state state;
    char *command;
    uint16_t port;
    /* A connection from the sandbox: where it is taken from, what the client called the address,
     * and who connected. NULL: the client connects. */
    char *accepted, *listened, *peer;
    uint16_t peer_port;
    uint64_t passed, total; /* bytes to the client, and how many there are in all */
    bool is_total_known;
    struct buffer environment; /* NAME=VALUE, each ended by NUL */
    unsigned variable_count;
    bool terminal;
    char terminal_kind[64];
    int cols, rows;
    struct child child;
    bool input_over;
    int wait_status;
    bool is_reaped;
    struct buffer to_child, to_client[2]; /* output and errors */
    int64_t kill_at_ms;                   /* 0: not asked to end */
};

/* A port of the sandbox whose connections go to the client. */
struct listening {
    LIST_ENTRY(listening) entry;
    struct session *session;
    struct child child;
    bool is_reaped;
    char *address; /* as the client asked for it */
    char *name;    /* with which its connections are taken */
    int port;
    struct buffer said;
    int64_t beat_at_ms;
};

struct sandbox {
    char id[ID_SIZE]; /* "" until it is entered */
    bool is_made, is_kept;
    unsigned keep_s; /* how long it lives on by itself; 0: as long as its own time-out says */
    int64_t extend_at_ms;
};

struct session {
    ssh_session ssh;
    LIST_HEAD(, flow) flows;
    unsigned flow_count, flows_max;
    LIST_HEAD(, listening) listenings;
    unsigned listening_count;
    struct buffer notice; /* what the user is told at the next shell or command: lines */
    bool allows_terminals, allows_ports;
    char address[64];
    int port;
    struct child_setting setting;
    struct target target;
    struct error *target_error; /* what is wrong with it, said when something is started */
    struct sandbox sandbox;
    unsigned keep_s;
    unsigned tries; /* of keys */
    bool authenticated;
    bool over;
    bool cut;         /* not by the client */
    bool hurried;     /* there is more to do than was done in this turn */
    char *end_reason; /* that sandlot-ssh gave */
};

/* --- messages.c --- */

/* Take what the client has sent. Returns -1 at the end of the connection. */
int messages_take(struct session *session);

/* --- authenticate.c --- */

void authenticate(struct session *session, ssh_message message);

/* Ask sandlot-ssh and wait for its answer; an end that it announces meanwhile is noted. */
int ask(struct session *session, json_t *question, json_t **answer, struct error **err);
void take_end(struct session *session, const json_t *message);

/* --- sandbox.c --- */

/* Find the sandbox, or make it, the first time; then it is there, and the user has a notice.
 * Errors: a sentence for the user. */
int sandbox_enter(struct session *session, struct error **err);

/* Move the deadline of one that SSH made on, when it is time. */
void sandbox_tend(struct session *session);

/* At the end: delete it unless it is to stay, or another connection is in it. was_cut: something
 * was still running. */
void sandbox_leave(struct session *session, bool was_cut);

/* --- flow.c --- */

struct flow *flow_new(struct session *session, ssh_channel ssh);
void flow_free(struct flow *flow);

/* Start what is wanted, and pass bytes on, as far as both sides take them. */
void flow_work(struct flow *flow);

/* The process of the flow, if there is one, is gone. */
void flow_reaped(struct flow *flow, int wait_status);

/* Say something to the user beside the output, and end with a code. */
void flow_fail(struct flow *flow, const char *message, int exit_code);

/* Nobody wants it any more: its process is to end. */
void flow_abandon(struct flow *flow);

/* Whether bytes may be given to libssh without end. */
bool flow_has_room(const struct flow *flow);

/* --- forward.c --- */

/* A connection to a port of the sandbox's loopback. message is taken over. */
void forward_open(struct session *session, ssh_message message);

/* Answer the client once it is known whether somebody listens; or ask it to take a connection. */
void forward_work(struct flow *flow);

/* --- listening.c --- */

/* A request of the client to listen, or not to any more. False: it is to be refused. */
bool listening_open(struct session *session, ssh_message message);
bool listening_cancel(struct session *session, ssh_message message);

/* Whether its output is looked at: there is room for another connection. */
bool listening_hears(const struct listening *listening);

/* Take what has come. False: it is over, for listening_free(). */
bool listening_work(struct listening *listening);
void listening_free(struct listening *listening);
