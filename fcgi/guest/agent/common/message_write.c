/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/common/message.h"
#include "agent/common/message_wire.h"
#include "agent/common/proto.h"

#define VARINT_MAX 10

static size_t put_varint(uint64_t value, char out[VARINT_MAX])
{
    size_t size = 0;
    for (; value >= 0x80; value >>= 7)
        out[size++] = (char)(value | 0x80);
    out[size++] = (char)value;
    return size;
}

static size_t varint_size(uint64_t value)
{
    char ignored[VARINT_MAX];
    return put_varint(value, ignored);
}

static void append_varint(struct buffer *out, uint64_t value)
{
    char bytes[VARINT_MAX];
    buffer_append(out, bytes, put_varint(value, bytes));
}

static uint64_t tag_of(uint32_t number, enum message_wire wire)
{
    return (uint64_t)number << WIRE_BITS | wire;
}

static void append_sized(struct buffer *out, uint32_t number, const void *data, size_t size)
{
    append_varint(out, tag_of(number, WIRE_BYTES));
    append_varint(out, size);
    buffer_append(out, data, size);
}

static void append_number(struct buffer *out, uint32_t number, uint64_t value)
{
    append_varint(out, tag_of(number, WIRE_VARINT));
    append_varint(out, value);
}

/* --- values --- */

/* Integers of 64 bits are digits in JSON. */
static int64_t integer_of(const json_t *value)
{
    const char *digits = json_string_value(value);
    return digits ? strtoll(digits, NULL, 10) : json_integer_value(value);
}

static uint64_t enum_of(const struct message_field *field, const json_t *value)
{
    const char *name = json_string_value(value);
    const struct message_enum *row = field->values;
    while (name && row->name && strcmp(row->name, name) != 0)
        row++;
    return name && row->name ? row->number : (uint64_t)json_integer_value(value);
}

static uint64_t number_of(const struct message_field *field, const json_t *value)
{
    int64_t integer = integer_of(value);
    switch (field->kind) {
    case MESSAGE_BOOL:
        return json_is_true(value);
    case MESSAGE_ENUM:
        return enum_of(field, value);
    case MESSAGE_SINT32:
        return (uint32_t)integer << 1 ^ (integer < 0 ? UINT32_MAX : 0);
    default:
        return (uint64_t)integer;
    }
}

static void write_texts(const struct message_field *field, const json_t *texts, struct buffer *out)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)texts, key, value) {
        buffer_auto entry = BUFFER_INIT(out->max);
        append_sized(&entry, WIRE_KEY, key, strlen(key));
        append_sized(&entry, WIRE_VALUE, json_string_value(value), json_string_length(value));
        append_sized(out, field->number, entry.data, entry.size);
    }
}

/* Of RFC 3339 in universal time. */
static void write_timestamp(const struct message_field *field, const char *text, struct buffer *out)
{
    struct tm tm = {.tm_isdst = 0};
    const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
    if (!rest)
        return;
    buffer_auto stamp = BUFFER_INIT(64);
    uint64_t nanoseconds = *rest == '.' ? strtoul(rest + 1, NULL, 10) : 0;
    append_number(&stamp, 1, (uint64_t)timegm(&tm));
    append_number(&stamp, 2, nanoseconds);
    append_sized(out, field->number, stamp.data, stamp.size);
}

static void write_base64(const struct message_field *field, const json_t *value, struct buffer *out)
{
    autofree char *data = NULL;
    size_t size;
    struct rpc_error ignored;
    if (proto_bytes(value, field->name, &data, &size, &ignored) == 0)
        append_sized(out, field->number, data, size);
}

void message_write_element(const struct message_field *field, const json_t *element,
                           struct buffer *out)
{
    buffer_auto nested = BUFFER_INIT(out->max);
    message_write(field->nested, element, &nested);
    append_sized(out, field->number, nested.data, nested.size);
}

static void write_value(const struct message_field *field, const json_t *value, struct buffer *out)
{
    bool always = field->presence != MESSAGE_IMPLICIT;
    switch (field->kind) {
    case MESSAGE_STRING:
        if (json_is_string(value) && (always || json_string_length(value)))
            append_sized(out, field->number, json_string_value(value), json_string_length(value));
        break;
    case MESSAGE_BYTES:
        write_base64(field, value, out);
        break;
    case MESSAGE_TIMESTAMP:
        write_timestamp(field, json_string_value(value), out);
        break;
    case MESSAGE_NESTED:
        if (json_is_object(value))
            message_write_element(field, value, out);
        break;
    case MESSAGE_TEXTS:
        write_texts(field, value, out);
        break;
    default:
        if (always || number_of(field, value))
            append_number(out, field->number, number_of(field, value));
    }
}

void message_write(const struct message *message, const json_t *json, struct buffer *out)
{
    for (size_t i = 0; i < message->count; i++) {
        const struct message_field *field = &message->fields[i];
        const json_t *value = json_object_get(json, field->name);
        if (value && field->presence != MESSAGE_REPEATED)
            write_value(field, value, out);
        for (size_t n = 0; field->presence == MESSAGE_REPEATED && n < json_array_size(value); n++)
            write_value(field, json_array_get(value, n), out);
    }
}

/* --- bytes alone --- */

static const struct message_field *field_named(const struct message *message, const char *name)
{
    const struct message_field *field = message->fields;
    while (strcmp(field->name, name) != 0)
        field++;
    return field;
}

/* The heads in front of the bytes, from the inside out: each head has the length of the bytes after
 * it. */
static size_t sizes_of(const struct message *message, const char *const *path, size_t depth,
                       size_t size, size_t *sizes)
{
    const struct message_field *field = field_named(message, path[0]);
    *sizes = depth == 1 ? size : sizes_of(field->nested, path + 1, depth - 1, size, sizes + 1);
    return varint_size(tag_of(field->number, WIRE_BYTES)) + varint_size(*sizes) + *sizes;
}

void message_write_bytes(const struct message *message, const char *const *path, size_t depth,
                         const void *data, size_t size, struct buffer *out)
{
    autofree size_t *sizes = xcalloc(depth, sizeof *sizes);
    sizes_of(message, path, depth, size, sizes);
    for (size_t i = 0; i < depth; i++) {
        const struct message_field *field = field_named(message, path[i]);
        append_varint(out, tag_of(field->number, WIRE_BYTES));
        append_varint(out, sizes[i]);
        message = field->nested;
    }
    buffer_append(out, data, size);
}
