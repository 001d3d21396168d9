/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Key rings for tests. */
#pragma once

#include "unit/unit.h"

#include "crypto/keyring_file.h"

#define UNIT_KEY_1 "1 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n"
#define UNIT_KEY_2 "2 ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100\n"

/* A ring of the keys in text; the caller ends with keyring_free(). */
static struct keyring *unit_keyring(const char *text)
{
    error_auto err = NULL;
    struct keyring *ring = NULL;
    assert_ok(keyring_parse(text, strlen(text), &ring, &err));
    return ring;
}
