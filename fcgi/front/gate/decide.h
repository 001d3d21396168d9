/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decide whether a request may reach a sandbox, and at which address. This file knows no HTTP. */
#pragma once

#include "http/pool.h"
#include "refusal/reason.h"
#include "runtime/agent_client.h"
#include "runtime/agent_notes.h"
#include "sandbox/lifecycle.h"

/* The state of a worker of the gate. */
struct gate {
    struct worker worker;
    struct pool *pool; /* the worker pool of this process */
    struct agent_notes *notes;
};

struct gate_request {
    const char *route;     /* 26 characters, checked by nginx and again here */
    uint16_t preview_port; /* 0: the data plane */
    const char *method;
    const char *path;    /* without the query */
    const char *query;   /* as sent, or NULL */
    const char *token;   /* access token as sent, or NULL */
    const char *cookie;  /* preview: the cookie that a browser sent by itself, or NULL */
    bool is_foreign;     /* preview: another site's page made the browser send it; see origin.h */
    bool is_kept_as_own; /* preview: nginx keeps passes of other sites' pages apart */
    const char *link_token; /* preview: the token in a link's address, or NULL */
    bool may_wait;          /* in the wake pool: resume and wait instead of GATE_WAKE */
    bool is_poll;           /* preview: only ask whether a server listens; resume nothing */
    const char *client;     /* address and request id for the audit log */
    const char *request_id;
    bool is_kept_as_health; /* nginx keeps passes for GET /health apart */
};

/* GATE_WAKE: a pool that may wait must decide. GATE_WAIT: the claim has used up its share; decide
 * again when the pool has room for it. */
enum gate_outcome { GATE_PASS, GATE_REFUSE, GATE_WAKE, GATE_WAIT };

struct gate_decision {
    enum gate_outcome outcome;
    enum refusal_reason reason;     /* of GATE_REFUSE */
    char upstream[32];              /* of GATE_PASS: address:port */
    struct relay_place relay;       /* of the sandbox's host; url NULL: nginx connects directly */
    char secret[AGENT_SECRET_SIZE]; /* for the agent or its relay, else ""; the caller wipes it */
    bool is_https;                  /* the sandbox's server uses TLS */
    char host[SANDBOX_HOST_SIZE];   /* the Host header for the server; "": as configured in nginx */
    uint16_t relay_port;            /* the port behind the agent's relay; 0: no relay */
    struct pool_claim claim;        /* of GATE_WAIT */
    bool cacheable;                 /* nginx may use this decision for the same request for one
                                     * second */
};

/* Decide about a request. Never fails: an error becomes a refusal and is logged.
 *
 * The database is not read for a malformed route, nor for a data-plane request that has neither a
 * good token nor a signature. The worker may enter its pool, and leaves it at the end of the
 * request. */
void gate_decide(struct gate *gate, const struct gate_request *request,
                 struct gate_decision *decision);

/* Find the sandbox of a genuine token in the request. Returns false without one. Does not read the
 * database. */
bool gate_token_sandbox(struct worker *worker, const struct gate_request *request,
                        char sandbox_id[ID_SIZE]);

/* Return why the upstream of an earlier pass failed or kept nginx waiting, as far as the sandbox's
 * state shows it; otherwise reason. */
enum refusal_reason gate_explain_failure(struct gate *gate, const struct gate_request *request,
                                         enum refusal_reason reason);
