/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a request may reach a sandbox, and where. No HTTP in here. */
#pragma once

#include "http/pool.h"
#include "refusal/reason.h"
#include "runtime/agent_client.h"
#include "runtime/agent_notes.h"
#include "sandbox/lifecycle.h"

/* What a worker of the gate works with. */
struct gate {
    struct worker worker;
    struct pool *pool; /* whose worker this is */
    struct agent_notes *notes;
};

struct gate_request {
    const char *route;     /* 26 characters, checked by nginx and again here */
    uint16_t preview_port; /* 0: the data plane */
    const char *method;
    const char *path;    /* without the query */
    const char *query;   /* as sent, or NULL */
    const char *token;   /* access token as sent, or NULL */
    const char *cookie;  /* preview: the one that a browser sent by itself, or NULL */
    bool is_foreign;     /* preview: another site's page had the browser send this; see origin.h */
    bool is_kept_as_own; /* preview: nginx keeps a pass apart from what other sites' pages send */
    const char *link_token; /* preview: the token in the address of a link to open, or NULL */
    bool may_wait;          /* in the wake pool: resume and wait instead of answering GATE_WAKE */
    bool is_poll;           /* preview: only asks whether a server listens; wakes nothing */
    const char *client;     /* address, and id of the request: for the record of a wake */
    const char *request_id;
    bool is_kept_as_health; /* nginx keeps a pass for GET /health apart from others */
};

/* GATE_WAKE: a pool that may wait has to decide. GATE_WAIT: others are served for the same claim;
 * decide again when the pool has room for it. */
enum gate_outcome { GATE_PASS, GATE_REFUSE, GATE_WAKE, GATE_WAIT };

struct gate_decision {
    enum gate_outcome outcome;
    enum refusal_reason reason;     /* of a refusal */
    char upstream[32];              /* address:port, of a pass */
    struct relay_place relay;       /* of its host; url NULL: nginx goes there directly */
    char secret[AGENT_SECRET_SIZE]; /* for the agent or its relay, else ""; wiped by the caller */
    bool is_https;                  /* its server speaks TLS */
    char host[SANDBOX_HOST_SIZE];   /* what that sees as Host; "": as nginx is configured */
    uint16_t relay_port;            /* through the agent's relay to this port; 0: direct */
    struct pool_claim claim;        /* of GATE_WAIT */
    bool cacheable;                 /* the same request may pass by this decision for a second */
};

/* Never fails: what goes wrong is a refusal, and is logged. No database is asked for a data-plane
 * request without a good token or anything that claims to be a signature, or for a route that is
 * none. The worker may have entered its pool, which it leaves at the end of the request. */
void gate_decide(struct gate *gate, const struct gate_request *request,
                 struct gate_decision *decision);

/* Whether one of the tokens is genuine, and the sandbox that it is of. No database is asked. */
bool gate_token_sandbox(struct worker *worker, const struct gate_request *request,
                        char sandbox_id[ID_SIZE]);

/* Why the upstream of an earlier pass failed or kept nginx waiting, as far as the sandbox's state
 * says; the given reason when it says nothing. */
enum refusal_reason gate_explain_failure(struct gate *gate, const struct gate_request *request,
                                         enum refusal_reason reason);
