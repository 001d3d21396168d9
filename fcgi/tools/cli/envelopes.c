/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/envelopes.h"

#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/mem.h"

#define HEAD 5
#define LAST 2

static void put_head(struct buffer *buffer, size_t size)
{
    const unsigned char head[HEAD] = {0, (unsigned char)(size >> 24), (unsigned char)(size >> 16),
                                      (unsigned char)(size >> 8), (unsigned char)size};
    buffer_append(buffer, head, sizeof head);
}

void envelope_put(struct buffer *buffer, json_t *message)
{
    autofree char *text = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    size_t size = strlen(text);
    put_head(buffer, size);
    buffer_append(buffer, text, size);
}

/* --- binary messages --- */

#define FIELD(number, wire) ((unsigned char)((number) << 3 | (wire)))
#define VARINT              0
#define BYTES               2

static size_t put_number(unsigned char *out, uint64_t number)
{
    size_t size = 0;
    for (; number >= 0x80; number >>= 7)
        out[size++] = (unsigned char)(number | 0x80);
    out[size++] = (unsigned char)number;
    return size;
}

/* Put a field around everything that already stands in head[*at …] and size bytes behind it. The
 * head grows to its front. */
static void wrap(unsigned char *head, size_t *at, size_t head_size, unsigned number, size_t size)
{
    unsigned char field[11] = {FIELD(number, BYTES)};
    size_t length = 1 + put_number(field + 1, head_size - *at + size);
    *at -= length;
    memcpy(head + *at, field, length);
}

void envelope_put_process(struct buffer *buffer, int pid)
{
    unsigned char head[64];
    unsigned char selector[11] = {FIELD(1, VARINT)};
    size_t size = 1 + put_number(selector + 1, (uint64_t)pid), at = sizeof head;
    wrap(head, &at, sizeof head, 1, size); /* process */
    wrap(head, &at, sizeof head, 1, size); /* start */
    put_head(buffer, sizeof head - at + size);
    buffer_append(buffer, head + at, sizeof head - at);
    buffer_append(buffer, selector, size);
}

void envelope_put_input(struct buffer *buffer, bool to_pty, const void *data, size_t size)
{
    unsigned char head[64];
    size_t at = sizeof head;
    wrap(head, &at, sizeof head, to_pty ? 2 : 1, size);
    wrap(head, &at, sizeof head, 2, size); /* input */
    wrap(head, &at, sizeof head, 2, size); /* data */
    put_head(buffer, sizeof head - at + size);
    buffer_append(buffer, head + at, sizeof head - at);
    buffer_append(buffer, data, size);
}

/* --- reading --- */

static size_t size_of(const unsigned char *head)
{
    return (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
}

/* Find base64 behind this beginning of a message. */
static const char *base64_of(const struct buffer *buffer, size_t size, const char *begin,
                             size_t *length)
{
    const char *text = buffer->data + HEAD, *end;
    size_t skipped = strlen(begin);
    if (size <= skipped || memcmp(text, begin, skipped) != 0)
        return NULL;
    end = memchr(text + skipped, '"', size - skipped);
    *length = end ? (size_t)(end - text) - skipped : 0;
    return end ? text + skipped : NULL;
}

bool envelope_take_output(struct buffer *buffer, char **bytes, size_t *size, bool *is_error)
{
    const unsigned char *head = (const unsigned char *)buffer->data;
    if (buffer->size < HEAD || head[0] || buffer->size < HEAD + size_of(head))
        return false;
    size_t length, message = size_of(head);
    const char *text = base64_of(buffer, message, "{\"event\":{\"data\":{\"stdout\":\"", &length);
    *is_error = !text;
    if (!text)
        text = base64_of(buffer, message, "{\"event\":{\"data\":{\"stderr\":\"", &length);
    if (!text)
        return false;
    *bytes = xmalloc(length / 4 * 3 + 3);
    if (sodium_base642bin((unsigned char *)*bytes, length / 4 * 3 + 3, text, length, NULL, size,
                          NULL, sodium_base64_VARIANT_ORIGINAL) != 0) {
        free(*bytes);
        return false;
    }
    buffer_consume(buffer, HEAD + message);
    return true;
}

int envelope_take(struct buffer *buffer, json_t **message, bool *is_last)
{
    const unsigned char *head = (const unsigned char *)buffer->data;
    if (buffer->size < HEAD)
        return 0;
    size_t size = size_of(head);
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
