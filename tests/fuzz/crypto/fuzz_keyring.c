/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Key files: a ring or an error that names a line, and never a byte of a key in it. */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "crypto/keyring_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The longest run of the message that also stands in the input may be a number or a word. */
static void check_message(const char *message, const uint8_t *data, size_t size)
{
    enum { RUN = 12 };
    size_t length = strlen(message);
    assert(length < 160);
    for (size_t i = 0; i + RUN <= length; i++) {
        bool hex_only = strspn(message + i, "0123456789abcdefABCDEF") >= RUN;
        assert(!hex_only || !memmem(data, size, message + i, RUN));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    error_auto err = NULL;
    struct keyring *ring = NULL;
    unsigned char key[KEYRING_SUBKEY_BYTES];
    if (size > 65536)
        return 0;
    if (keyring_parse((const char *)data, size, &ring, &err) < 0) {
        assert(!ring && err && err->code == ERR_CONFIG);
        check_message(err->message, data, size);
        return 0;
    }
    assert(ring && !err && keyring_newest(ring) > 0);
    int result = keyring_subkey(ring, keyring_newest(ring), KEY_PURPOSE_SESSION, key, &err);
    assert(result == 0);
    keyring_free(ring);
    return 0;
}
