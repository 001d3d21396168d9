/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors of requests to the volume server, by value. Fallible functions return 0 or -1 and, on -1,
 * have filled *error. */
#pragma once

#include "base/instance.h"

struct keeper_error {
    enum keeper_code code;
    char message[200];
    const char *argument; /* that has the wrong path, static; NULL: the only one */
};

/* Fill *error. Always returns -1. */
int keeper_error_set(struct keeper_error *error, enum keeper_code code, const char *message);

/* Do the same as keeper_error_set(), from the errno value of a file operation. */
int keeper_error_set_errno(struct keeper_error *error, int errnum);

/* Add the argument to *error. Always returns -1. */
int keeper_error_argument(struct keeper_error *error, const char *argument);
