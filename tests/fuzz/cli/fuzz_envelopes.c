/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes from a sandbox to the command line: messages of the Connect protocol, in pieces of any
 * size. */
#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "cli/envelopes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    buffer_auto buffer = BUFFER_INIT(1 << 20);
    if (size > 65536)
        return 0;
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
    autofree char *text = xstrndup((const char *)data, size);
    size_t bytes;
    free(envelope_decode(text, &bytes));
    return 0;
}
