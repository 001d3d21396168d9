/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A function that can fail takes err as its last argument, and returns 0 or -1. On -1 it has set
 * *err to an error that the caller owns. err itself is never NULL. Messages are sentences that a
 * person can act on; they never carry a secret.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

enum error_code {
#define X(symbol, api_code, status) symbol,
#include "base/error_codes.def"
#undef X
    ERROR_CODE_COUNT
};

struct error {
    enum error_code code;
    char *message;          /* never NULL */
    char *field;            /* JSON pointer or parameter name of the bad input, or NULL */
    unsigned retry_after_s; /* 0: say nothing about it */
    json_t *details;        /* further members of the answer, by name; or NULL */
};

/* Set *err (which must be NULL) to a new error. Always returns -1, so that callers can
 * `return error_set(err, …)`. */
int error_set(struct error **err, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Do the same as error_set(), naming the input that is wrong: a JSON pointer
 * ("/lifecycle/on_timeout") or the name of a query parameter. */
int error_set_field(struct error **err, enum error_code code, const char *field, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));

/* Do the same as error_set(), with the text of an errno value after the message. */
int error_set_errno(struct error **err, enum error_code code, int errnum, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Put "context: " before the message of *err. Always returns -1. */
int error_context(struct error **err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Give *err another code: the meaning of an inner error one level up. Returns -1. */
int error_recode(struct error **err, enum error_code code);

/* Add to the details of *err; takes the reference of value. Returns -1. */
int error_add_detail(struct error **err, const char *name, json_t *value);

/* Add the allowed number as "limit" and the present number as "used". Return -1. */
int error_add_limit(struct error **err, unsigned limit, unsigned used);

/* Free *err if there is one and set it to NULL. */
void error_clear(struct error **err);

/* Do the same if there is one with this code. Returns whether there was. */
bool error_clear_if(struct error **err, enum error_code code);

/* Move *from into *to (which must be NULL). Always returns -1. */
int error_move(struct error **to, struct error **from);

/* Return whether an error is temporary: the database, a host or its runtime does not answer, the
 * database is full or met a conflict, or the result is unknown. */
bool error_is_transient(const struct error *err);

const char *error_api_code(enum error_code code); /* "not_found" */
const char *error_symbol(enum error_code code);   /* "ERR_NOT_FOUND" */
int error_http_status(enum error_code code);

static inline void error_autofree_(struct error **err)
{
    error_clear(err);
}
/* `error_auto err = NULL;` frees itself at the end of its block. */
#define error_auto __attribute__((cleanup(error_autofree_))) struct error *
