/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes from others to the command line: messages of the Connect protocol from a sandbox, in pieces
 * of any size, and the .dockerignore of a folder. */
#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/envelopes.h"
#include "cli/ignore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_ignore(const char *text)
{
    struct ignore ignore = {0};
    error_auto err = NULL;
    if (ignore_read(&ignore, text, &err) == 0) {
        assert(ignore.count <= IGNORE_PATTERNS_MAX);
        (void)ignore_has(&ignore, "a");
        (void)ignore_has(&ignore, "src/a/b/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/c.txt");
    }
    ignore_deinit(&ignore);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    buffer_auto buffer = BUFFER_INIT(1 << 20);
    if (size > 65536)
        return 0;
    autofree char *text = xstrndup((const char *)data, size);
    try_ignore(text);
    for (size_t at = 0, piece; at < size; at += piece) {
        piece = size - at > 97 ? 97 : size - at;
        buffer_append(&buffer, data + at, piece);
        int taken;
        do {
            json_t *message = NULL;
            bool is_last = false;
            size_t before = buffer.size;
            taken = envelope_take(&buffer, &message, &is_last);
            assert(taken == 1 ? message && buffer.size < before : !message);
            json_decref(message);
        } while (taken == 1);
        if (taken < 0)
            return 0;
    }
    size_t bytes;
    free(envelope_decode(text, &bytes));
    return 0;
}
