/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a request may reach a sandbox, and where. No HTTP in here. */
#pragma once

#include "sandbox/agent_client.h"
#include "sandbox/lifecycle.h"

enum gate_reason {
#define X(symbol, reason, data_status, preview_status, code, sentence) symbol,
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

struct gate_request {
    const char *route;     /* 26 characters, checked by nginx and again here */
    uint16_t preview_port; /* 0: the data plane */
    const char *method;
    const char *path;  /* without the query */
    const char *token; /* access token as sent, or NULL */
    bool may_wait;     /* in the wake pool: resume and wait instead of answering GATE_WAKE */
};

enum gate_outcome { GATE_PASS, GATE_REFUSE, GATE_WAKE };

struct gate_decision {
    enum gate_outcome outcome;
    enum gate_reason reason;        /* of a refusal */
    char upstream[32];              /* address:port, of a pass */
    char secret[AGENT_SECRET_SIZE]; /* for the agent or its relay, else ""; wiped by the caller */
    uint16_t relay_port;            /* through the agent's relay to this port; 0: direct */
};

/* Never fails: what goes wrong is a refusal, and is logged. */
void gate_decide(struct sandbox_service *service, const struct gate_request *request,
                 struct gate_decision *decision);

/* Whether token opens the sandbox that the request is for; no database is asked for a bad one. */
bool gate_token_fits(struct sandbox_service *service, const struct gate_request *request,
                     const char *token);
