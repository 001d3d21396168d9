/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults: what a request of the data plane fails with. Unlike struct error they speak the Connect
 * protocol's codes and live by value inside a request, so that refusing one allocates nothing.
 * Fallible functions return 0 or -1 and, on -1, have filled *fault.
 */
#pragma once

#include <stdarg.h>

enum fault_code {
#define X(symbol, connect_code, connect_status, rest_status) symbol,
#include "agent/common/faults.def"
#undef X
    FAULT_CODE_COUNT
};

struct fault {
    enum fault_code code;
    char message[320]; /* UTF-8, without control characters; cut where it does not fit */
};

/* Fill *fault. Always returns -1, so that callers can `return fault_set(fault, …)`. */
int fault_set(struct fault *fault, enum fault_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As fault_set() with the code that an errno value of a file operation means, and its text after
 * the message. */
int fault_set_errno(struct fault *fault, int errnum, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The errno value as it is told of something that is read: what would be below a file is not there.
 * Who writes there is told that it is no directory. */
int fault_errno_of_reading(int errnum);

const char *fault_connect_code(enum fault_code code); /* "not_found" */
unsigned fault_connect_status(enum fault_code code);
unsigned fault_rest_status(enum fault_code code);
