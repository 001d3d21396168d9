/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/envelopes.h"

#include <sodium.h>
#include <stdint.h>
#include <string.h>

#include "base/json_read.h"
#include "base/mem.h"

#define HEAD 5
#define LAST 2

void envelope_put(struct buffer *buffer, json_t *message)
{
    autofree char *text = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    size_t size = strlen(text);
    const unsigned char head[HEAD] = {0, (unsigned char)(size >> 24), (unsigned char)(size >> 16),
                                      (unsigned char)(size >> 8), (unsigned char)size};
    buffer_append(buffer, head, sizeof head);
    buffer_append(buffer, text, size);
}

int envelope_take(struct buffer *buffer, json_t **message, bool *is_last)
{
    const unsigned char *head = (const unsigned char *)buffer->data;
    if (buffer->size < HEAD)
        return 0;
    size_t size = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
    if (buffer->size < HEAD + size)
        return size + HEAD > buffer->max ? -1 : 0;
    *is_last = head[0] & LAST;
    *message = json_read(buffer->data + HEAD, size, 0, NULL);
    buffer_consume(buffer, HEAD + size);
    return *message ? 1 : -1;
}

json_t *envelope_bytes(const void *data, size_t size)
{
    size_t room = sodium_base64_ENCODED_LEN(size, sodium_base64_VARIANT_ORIGINAL);
    autofree char *text = xmalloc(room);
    sodium_bin2base64(text, room, data, size, sodium_base64_VARIANT_ORIGINAL);
    return json_string(text);
}

char *envelope_decode(const char *text, size_t *size)
{
    size_t length = strlen(text);
    autofree char *bytes = xmalloc(length / 4 * 3 + 3);
    if (sodium_base642bin((unsigned char *)bytes, length / 4 * 3 + 3, text, length, NULL, size,
                          NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
        return NULL;
    return steal_pointer(&bytes);
}
