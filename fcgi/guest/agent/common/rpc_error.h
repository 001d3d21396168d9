/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors of requests of the data plane. Unlike struct error they speak the Connect protocol's codes
 * and live by value inside a request, so that refusing one allocates nothing. Fallible functions
 * return 0 or -1 and, on -1, have filled *error.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>

enum rpc_code {
#define X(symbol, connect_code, grpc_number, connect_status, rest_status, api_code, retry) symbol,
#include "agent/common/rpc_errors.def"
#undef X
    RPC_CODE_COUNT
};

struct rpc_error {
    enum rpc_code code;
    char message[320]; /* UTF-8, without control characters; cut where it does not fit */
    char field[81];    /* likewise: the wrong parameter, header or member; "": none */
};

/* Fill *error. Always returns -1, so that callers can `return rpc_error_set(error, …)`. */
int rpc_error_set(struct rpc_error *error, enum rpc_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Do the same as rpc_error_set() with RPC_INVALID_ARGUMENT, and name the wrong input: a parameter,
 * a header, or as "/name" a member of the body. */
int rpc_error_set_field(struct rpc_error *error, const char *field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Name the wrong input of an error that names none. Always returns -1. */
int rpc_error_name(struct rpc_error *error, const char *field);

/* Name the objects that hold the member of an error: "/cols" within "pty/size" is "/pty/size/cols".
 * An error that names no member stays. Always returns -1. */
int rpc_error_within(struct rpc_error *error, const char *objects);

/* Refuse an input that the call does not have, with the nearest one that it has. kind: "field" or
 * "query parameter". known ends with NULL. */
int rpc_error_set_unknown(struct rpc_error *error, const char *kind, const char *field,
                          const char *name, const char *const known[]);

/* Do the same as rpc_error_set(), with the code that an errno value of a file operation means, and
 * its text after the message. */
int rpc_error_set_errno(struct rpc_error *error, int errnum, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Set the error for an errno value of a read: a path below a file does not exist. For a write the
 * error says that the file is not a directory. */
int rpc_errno_of_reading(int errnum);

const char *rpc_connect_code(enum rpc_code code); /* "not_found" */
unsigned rpc_grpc_number(enum rpc_code code);
unsigned rpc_connect_status(enum rpc_code code);
unsigned rpc_rest_status(enum rpc_code code);
const char *rpc_api_code(enum rpc_code code); /* as in the errors of the API: "not_found" */

/* Return whether the same request can succeed later: its answer gets Retry-After. */
bool rpc_may_retry(enum rpc_code code);
