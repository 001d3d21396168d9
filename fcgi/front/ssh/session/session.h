/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One SSH connection, in a process of its own. The library libssh talks to the client. The program
 * sandlot-ssh checks the key (ssh/wire.h). The command line for users does the work (child.h). So
 * this process has a socket, a token of one user, and no rights on the machine.
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

#define FLOW_PIECE     (64 * 1024)
#define LISTENINGS_MAX 8 /* ports of the sandbox that go to the client */

/* The agent's own program in each sandbox. */
#define SANDBOX_AGENT "/usr/lib/sandlot/sandlot-agent"

enum flow_kind { FLOW_SHELL, FLOW_COMMAND, FLOW_FILES, FLOW_PORT };

enum flow_state {
    FLOW_OPEN,    /* the client has not asked for anything */
    FLOW_WANTED,  /* the client has asked; not started yet */
    FLOW_ASKING,  /* a port: wait for the connection in the sandbox */
    FLOW_OPENING, /* from the sandbox: wait until the client takes it */
    FLOW_RUNNING, /* pass bytes in both directions */
    FLOW_OVER,
};

/* A channel of the client, and the process at its other end. */
struct flow {
    LIST_ENTRY(flow) entry;
    struct session *session;
    ssh_channel ssh;     /* NULL until the port's connection stands */
    ssh_message request; /* to open a port; NULL once it is answered */
    struct ssh_channel_callbacks_struct callbacks;
    enum flow_kind kind;
    enum flow_state state;
    char *command;
    uint16_t port;
    /* For a connection from the sandbox: the name to take it by, the address as the client wrote
     * it, and the address that connected. NULL: the client connects. */
    char *accepted, *listened, *peer;
    uint16_t peer_port;
    uint64_t passed, total; /* bytes passed to the client, and bytes in all */
    bool is_total_known;
    struct buffer environment; /* NAME=VALUE, each ended by NUL */
    unsigned variable_count;
    bool terminal;
    char terminal_kind[64];
    int cols, rows;
    struct child child;
    bool input_over;
    bool input_is_wide; /* its pipe */
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
    char *name;    /* the name to take its connections by */
    int port;
    struct buffer said;
    int64_t beat_at_ms;
};

struct sandbox {
    char id[ID_SIZE]; /* "": not entered yet */
    bool is_made, is_kept;
    unsigned keep_s; /* the life without a connection; 0: its own time-out decides */
    int64_t extend_at_ms;
};

struct session {
    ssh_session ssh;
    LIST_HEAD(, flow) flows;
    unsigned flow_count, flows_max;
    LIST_HEAD(, listening) listenings;
    unsigned listening_count;
    struct buffer notice; /* lines for the next shell or command */
    bool allows_terminals, allows_ports;
    char address[64];
    int port;
    struct child_setting setting;
    struct target target;
    struct error *target_error; /* why the target is wrong; shown at the first start */
    struct sandbox sandbox;
    unsigned keep_s;
    unsigned tries; /* number of keys tried */
    bool authenticated;
    bool over;
    bool cut;         /* the client did not end the connection */
    bool hurried;     /* work is left over from this turn */
    char *end_reason; /* from sandlot-ssh */
};

/* --- messages.c --- */

/* Handle the messages of the client. Returns -1 at the end of the connection. */
int messages_take(struct session *session);

/* --- authenticate.c --- */

/* Answer a request to authenticate: check the key, or sign the user in. */
void authenticate(struct session *session, ssh_message message);

/* Ask sandlot-ssh and wait for the answer. An {"end"} message in between is kept for the session's
 * end. */
int ask(struct session *session, json_t *question, json_t **answer, struct error **err);
/* Keep the reason of an {"end"} message; the first one counts. */
void take_end(struct session *session, const json_t *message);

/* --- sandbox.c --- */

/* Find or create the sandbox on the first call, and write the user's notice. Errors: a sentence for
 * the user. */
int sandbox_enter(struct session *session, struct error **err);

/* Extend the sandbox's life when it is due, if SSH made the sandbox or attaches to its terminal. */
void sandbox_tend(struct session *session);

/* Delete the sandbox at the end, unless it is to stay or another connection uses it. was_cut: a
 * shell or command was still running; the sandbox stays. */
void sandbox_leave(struct session *session, bool was_cut);

/* --- flow.c --- */

/* Add a flow to the session. ssh: NULL for a port. */
struct flow *flow_new(struct session *session, ssh_channel ssh);
void flow_free(struct flow *flow);

/* Start the flow when the client has asked for it, and pass bytes in both directions. */
void flow_work(struct flow *flow);

/* Note that the process of the flow has ended, if it has one. */
void flow_reaped(struct flow *flow, int wait_status);

/* Show the user a message next to the output, and end the flow with an exit code. */
void flow_fail(struct flow *flow, const char *message, int exit_code);

/* End the process of a flow that the client no longer uses. */
void flow_abandon(struct flow *flow);

/* Return whether libssh's buffer has room for more bytes. */
bool flow_has_room(const struct flow *flow);

/* --- forward.c --- */

/* Start a connection to a port of the sandbox's loopback. Takes message over. */
void forward_open(struct session *session, ssh_message message);

/* Answer the client when the connection in the sandbox stands, or offer it a connection from
 * there. */
void forward_work(struct flow *flow);

/* Refuse the port to the client, if it still waits for an answer: without one it would wait for
 * ever. */
void forward_refuse(struct flow *flow);

/* --- listening.c --- */

/* Answer a client's request to listen or to stop listening. Returns false when it must be
 * refused. */
bool listening_open(struct session *session, ssh_message message);
bool listening_cancel(struct session *session, ssh_message message);

/* Return whether another connection fits, so that its output is read. */
bool listening_hears(const struct listening *listening);

/* Take new connections and send the heartbeat. Returns false at the end; call listening_free()
 * then. */
bool listening_work(struct listening *listening);
void listening_free(struct listening *listening);
