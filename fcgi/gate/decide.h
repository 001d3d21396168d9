/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a request may reach a sandbox, and where. No HTTP in here. */
#pragma once

#include "sandbox/agent_client.h"
#include "sandbox/lifecycle.h"

enum gate_reason {
#define X(symbol, reason, data_status, preview_status, code, sentence, title, lead, step) symbol,
#include "gate/reasons.def"
#undef X
    GATE_REASON_COUNT
};

const char *gate_reason_name(enum gate_reason reason);
/* 0, or -1 when name is none. */
int gate_reason_parse(const char *name, enum gate_reason *reason);
int gate_reason_status(enum gate_reason reason, bool is_preview);
const char *gate_reason_code(enum gate_reason reason);
const char *gate_reason_sentence(enum gate_reason reason);

/* The texts of a reason's page: HTML with {{base_url}} and {{port}} to fill in. */
struct gate_reason_page {
    const char *title; /* "": this reason has none */
    const char *lead;  /* what is the matter */
    const char *step;  /* what to do */
};
const struct gate_reason_page *gate_reason_page(enum gate_reason reason);

struct gate_request {
    const char *route;     /* 26 characters, checked by nginx and again here */
    uint16_t preview_port; /* 0: the data plane */
    const char *method;
    const char *path;       /* without the query */
    const char *query;      /* as sent, or NULL */
    const char *token;      /* access token as sent, or NULL */
    const char *link_token; /* preview: the token in the address of a link to open, or NULL */
    bool may_wait;          /* in the wake pool: resume and wait instead of answering GATE_WAKE */
    bool is_poll;           /* preview: only asks whether a server listens; wakes nothing */
    bool is_kept_as_health; /* nginx keeps a pass for GET /health apart from others */
};

enum gate_outcome { GATE_PASS, GATE_REFUSE, GATE_WAKE };

struct gate_decision {
    enum gate_outcome outcome;
    enum gate_reason reason;        /* of a refusal */
    char upstream[32];              /* address:port, of a pass */
    char secret[AGENT_SECRET_SIZE]; /* for the agent or its relay, else ""; wiped by the caller */
    uint16_t relay_port;            /* through the agent's relay to this port; 0: direct */
    bool cacheable;                 /* the same request may pass by this decision for a second */
};

/* Never fails: what goes wrong is a refusal, and is logged. No database is asked for a data-plane
 * request without a good token or anything that claims to be a signature, or for a route that is
 * none. */
void gate_decide(struct sandbox_service *service, const struct gate_request *request,
                 struct gate_decision *decision);

/* Why nginx could not reach the upstream of an earlier pass, as far as the sandbox's state says;
 * GATE_UPSTREAM_FAILED when it says nothing. */
enum gate_reason gate_explain_failure(struct sandbox_service *service,
                                      const struct gate_request *request);
