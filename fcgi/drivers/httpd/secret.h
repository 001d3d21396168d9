/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check the secret that the edge and the control plane share with a program inside an instance.
 * Only its digest stays in memory, so that the memory, or a memory image of the sandbox, does not
 * show the secret. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SHARED_SECRET_HEX    64
#define SHARED_SECRET_DIGEST 32

struct shared_secret {
    bool known;
    unsigned char digest[SHARED_SECRET_DIGEST];
};

/* Set the secret. Returns 0, or -1, with no change, when hex is not 64 hexadecimal digits. */
int shared_secret_set(struct shared_secret *secret, const char *hex, size_t length);

/* Return whether this is the secret. Takes the same time for every wrong one. Returns false before
 * a secret is set. */
bool shared_secret_matches(const struct shared_secret *secret, const char *hex, size_t length);
