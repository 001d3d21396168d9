/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parse the text of a key file. Only keyring.c, tests and fuzzers include this. */
#pragma once

#include "crypto/keyring.h"

#define KEYRING_KEYS_MAX 64u

/* Read a key ring. Errors: ERR_CONFIG; the message names the line, never its contents. */
int keyring_parse(const char *text, size_t size, struct keyring **ring, struct error **err);
