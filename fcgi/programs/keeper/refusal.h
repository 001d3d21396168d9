/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a request to the keeper can fail with, by value. Fallible functions return 0 or -1 and, on
 * -1, have filled *refusal. */
#pragma once

#include "base/instance.h"

struct refusal {
    enum keeper_code code;
    char message[200];
};

/* Fill *refusal. Always returns -1. */
int refuse(struct refusal *refusal, enum keeper_code code, const char *message);

/* As refuse(), from the errno value of a file operation. */
int refuse_errno(struct refusal *refusal, int errnum);
