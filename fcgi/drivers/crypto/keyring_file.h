/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of a key file as a ring; only keyring.c, tests and fuzzers include this. */
#pragma once

#include "crypto/keyring.h"

#define KEYRING_KEYS_MAX 64u

/* Read a key ring. ERR_CONFIG naming the line, never its contents. */
int keyring_parse(const char *text, size_t size, struct keyring **ring, struct error **err);
