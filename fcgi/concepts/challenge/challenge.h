/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS-01 challenges of ACME (RFC 8555, 8.4): a certificate authority wants to read values that it
 * has given to our client of ACME as TXT records of _acme-challenge.<name>. The client's hooks put
 * them into the folder acme_dir, each as the name of an empty file, and sandlot-acme answers with
 * them. What a hook has left behind counts for an hour.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/settings.h"

#define CHALLENGE_PREFIX     "_acme-challenge."
#define CHALLENGE_VALUE_SIZE 44 /* a SHA-256 in base64url, and the NUL */
#define CHALLENGE_VALUES_MAX 16
#define CHALLENGE_NAMES_MAX  3

struct challenge_value {
    char text[CHALLENGE_VALUE_SIZE];
};

/* The host names that certificates are got for: the data planes' domain, and those of the API and
 * of the console. Lower case, each once. */
struct challenge_names {
    char *names[CHALLENGE_NAMES_MAX];
    unsigned count;
};
void challenge_names_init(struct challenge_names *names, const struct settings *settings);
void challenge_names_deinit(struct challenge_names *names);

/* The one of them that name (lower case) is or, where it says so, is the challenge's name of; NULL:
 * none. Borrowed. */
const char *challenge_names_find(const struct challenge_names *names, const char *name);

/* Let a value be answered, or no longer; name: the one that it is for, with or without
 * CHALLENGE_PREFIX. Adding what is there, and removing what is not, changes nothing. Errors:
 * ERR_INVALID_REQUEST with field "DOMAIN" or "--value", ERR_CONFIG. */
int challenge_add(const struct settings *settings, const char *name, const char *value,
                  struct error **err);
int challenge_remove(const struct settings *settings, const char *name, const char *value,
                     struct error **err);

/* What is to be answered now; how many. */
size_t challenge_list(const char *directory, struct challenge_value values[CHALLENGE_VALUES_MAX]);
