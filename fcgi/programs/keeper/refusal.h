/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a request to the keeper can fail with, by value. Fallible functions return 0 or -1 and, on
 * -1, have filled *refusal. */
#pragma once

/* X(symbol, code on the wire, HTTP status) */
#define REFUSALS(X)                              \
    X(REFUSAL_UNAUTHORIZED, "unauthorized", 401) \
    X(REFUSAL_NOT_FOUND, "not_found", 404)       \
    X(REFUSAL_NOT_MOUNTED, "not_mounted", 404)   \
    X(REFUSAL_INVALID, "invalid", 400)           \
    X(REFUSAL_EXISTS, "exists", 409)             \
    X(REFUSAL_NOT_EMPTY, "not_empty", 409)       \
    X(REFUSAL_FENCED, "fenced", 409)             \
    X(REFUSAL_OTHER_EPOCH, "other_epoch", 412)   \
    X(REFUSAL_NO_SPACE, "no_space", 507)         \
    X(REFUSAL_INTERNAL, "internal", 500)

enum refusal_code {
#define X(symbol, code, status) symbol,
    REFUSALS(X)
#undef X
};

struct refusal {
    enum refusal_code code;
    char message[200];
};

/* Fill *refusal. Always returns -1. */
int refuse(struct refusal *refusal, enum refusal_code code, const char *message);

/* As refuse(), from the errno value of a file operation. */
int refuse_errno(struct refusal *refusal, int errnum);

const char *refusal_code_name(enum refusal_code code);
unsigned refusal_status(enum refusal_code code);
