/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sodium.h>
#include <string.h>

#include "agent/common/message.h"
#include "agent/common/message_wire.h"

#define DEPTH_MAX   16 /* of unknown groups; tables are less deep */
#define NUMBER_MAX  ((1U << 29) - 1)
#define VARINT_BITS 64

struct reader {
    const unsigned char *at, *end;
    size_t values; /* that were read */
    struct rpc_error *error;
};

struct tag {
    uint32_t number;
    enum message_wire wire;
};

static int refuse(struct reader *reader, const char *what)
{
    return rpc_error_set(reader->error, RPC_INVALID_ARGUMENT, "the message is not valid: %s", what);
}

static int read_varint(struct reader *reader, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < VARINT_BITS; shift += 7) {
        if (reader->at == reader->end)
            return refuse(reader, "a number is cut off");
        unsigned char byte = *reader->at++;
        if (shift == VARINT_BITS - 1 && byte > 1)
            break;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return 0;
    }
    return refuse(reader, "a number has more than 64 bits");
}

static int read_length(struct reader *reader, size_t *length)
{
    uint64_t value;
    *length = 0;
    if (read_varint(reader, &value) < 0)
        return -1;
    if (value > (size_t)(reader->end - reader->at))
        return refuse(reader, "a length is longer than the message");
    *length = (size_t)value;
    return 0;
}

static int read_tag(struct reader *reader, struct tag *tag)
{
    uint64_t value;
    if (read_varint(reader, &value) < 0)
        return -1;
    if (value >> WIRE_BITS == 0 || value >> WIRE_BITS > NUMBER_MAX)
        return refuse(reader, "a field has the number 0, or a number that is too large");
    tag->number = (uint32_t)(value >> WIRE_BITS);
    tag->wire = (enum message_wire)(value & ((1U << WIRE_BITS) - 1));
    return 0;
}

static int skip_bytes(struct reader *reader, size_t size)
{
    if ((size_t)(reader->end - reader->at) < size)
        return refuse(reader, "a value is longer than the message");
    reader->at += size;
    return 0;
}

/* The value of a tag, but for the end of a group. */
static int skip_value(struct reader *reader, const struct tag *tag)
{
    uint64_t number;
    size_t length;
    switch (tag->wire) {
    case WIRE_VARINT:
        return read_varint(reader, &number);
    case WIRE_64:
        return skip_bytes(reader, 8);
    case WIRE_32:
        return skip_bytes(reader, 4);
    case WIRE_BYTES:
        return read_length(reader, &length) < 0 ? -1 : skip_bytes(reader, length);
    default:
        return refuse(reader, "a field has an unknown wire type");
    }
}

/* A field without a row, with the groups in it. */
static int skip(struct reader *reader, struct tag tag)
{
    uint32_t open[DEPTH_MAX];
    size_t depth = 0;
    for (;;) {
        if (tag.wire == WIRE_GROUP && depth == DEPTH_MAX)
            return refuse(reader, "groups are nested too deeply");
        if (tag.wire == WIRE_GROUP)
            open[depth++] = tag.number;
        else if (tag.wire == WIRE_GROUP_END && (!depth || open[--depth] != tag.number))
            return refuse(reader, "a group ends that has no start");
        else if (tag.wire != WIRE_GROUP_END && skip_value(reader, &tag) < 0)
            return -1;
        if (!depth)
            return 0;
        if (read_tag(reader, &tag) < 0)
            return -1;
    }
}

/* --- values --- */

static int count_value(struct reader *reader)
{
    if (++reader->values <= MESSAGE_VALUES_MAX)
        return 0;
    return rpc_error_set(reader->error, RPC_TOO_LARGE, "the message has more than %d values",
                         MESSAGE_VALUES_MAX);
}

static json_t *read_number(struct reader *reader, enum message_kind kind)
{
    uint64_t value;
    if (read_varint(reader, &value) < 0)
        return NULL;
    uint32_t low = (uint32_t)value; /* longer ones are cut, as everywhere */
    switch (kind) {
    case MESSAGE_BOOL:
        return json_boolean(value != 0);
    case MESSAGE_INT64:
        return json_integer((json_int_t)value);
    case MESSAGE_SINT32:
        return json_integer((int32_t)((low >> 1) ^ (0 - (low & 1))));
    case MESSAGE_ENUM:
        return json_integer((int32_t)low);
    default:
        return json_integer(low);
    }
}

static json_t *make_text(struct reader *reader, const char *name, size_t length)
{
    const char *text = (const char *)reader->at;
    if (length && memchr(text, '\0', length)) {
        rpc_error_set(reader->error, RPC_INVALID_ARGUMENT, "%s contains a NUL character", name);
        return NULL;
    }
    json_t *value = json_stringn(text, length);
    if (!value)
        rpc_error_set(reader->error, RPC_INVALID_ARGUMENT, "%s is not valid UTF-8", name);
    reader->at += length;
    return value;
}

static json_t *make_base64(struct reader *reader, size_t length)
{
    size_t room = sodium_base64_ENCODED_LEN(length, sodium_base64_VARIANT_ORIGINAL);
    autofree char *text = xmalloc(room);
    sodium_bin2base64(text, room, reader->at, length, sodium_base64_VARIANT_ORIGINAL);
    reader->at += length;
    return json_stringn_nocheck(text, room - 1);
}

static bool is_number(enum message_kind kind)
{
    return kind <= MESSAGE_ENUM;
}

static int store(struct reader *reader, const struct message *message,
                 const struct message_field *field, json_t *json, json_t *value)
{
    if (!value)
        return -1;
    if (field->presence == MESSAGE_REPEATED) {
        if (!json_object_get(json, field->name))
            json_object_set_new(json, field->name, json_array());
        json_array_append_new(json_object_get(json, field->name), value);
        return count_value(reader);
    }
    for (size_t i = 0; field->presence == MESSAGE_ONEOF && i < message->count; i++)
        if (message->fields[i].presence == MESSAGE_ONEOF && &message->fields[i] != field)
            json_object_del(json, message->fields[i].name);
    json_object_set_new(json, field->name, value);
    return count_value(reader);
}

/* Repeated numbers behind one tag. */
static int read_packed(struct reader *reader, const struct message *message,
                       const struct message_field *field, json_t *json)
{
    size_t length;
    if (read_length(reader, &length) < 0)
        return -1;
    const unsigned char *end = reader->end;
    reader->end = reader->at + length;
    while (reader->at < reader->end)
        if (store(reader, message, field, json, read_number(reader, field->kind)) < 0)
            return -1;
    reader->end = end;
    return 0;
}

static int read_entry_text(struct reader *reader, const struct message_field *field,
                           const struct tag *tag, json_t **text)
{
    size_t length;
    if (tag->wire != WIRE_BYTES)
        return rpc_error_set(reader->error, RPC_INVALID_ARGUMENT, "an entry of %s is not text",
                             field->name);
    if (read_length(reader, &length) < 0)
        return -1;
    json_decref(*text);
    *text = make_text(reader, field->name, length);
    return *text ? 0 : -1;
}

/* An entry of a map; a key or value that is not there is empty. */
static int read_entry(struct reader *reader, const struct message_field *field, json_t *texts)
{
    json_auto_t *key = json_string("");
    json_auto_t *value = json_string("");
    while (reader->at < reader->end) {
        struct tag tag;
        if (read_tag(reader, &tag) < 0)
            return -1;
        json_t **text = tag.number == WIRE_KEY ? &key : tag.number == WIRE_VALUE ? &value : NULL;
        if (text ? read_entry_text(reader, field, &tag, text) < 0 : skip(reader, tag) < 0)
            return -1;
    }
    json_object_set(texts, json_string_value(key), value);
    return count_value(reader);
}

static int read_fields(struct reader *reader, const struct message *message, json_t *json);

/* A nested message that comes again is merged into the first. */
static json_t *object_for(const struct message_field *field, json_t *json)
{
    json_t *object =
        field->presence == MESSAGE_REPEATED ? NULL : json_object_get(json, field->name);
    return object ? json_incref(object) : json_object();
}

static int read_object(struct reader *reader, const struct message *message,
                       const struct message_field *field, json_t *json, size_t length)
{
    const unsigned char *end = reader->end;
    json_t *object = object_for(field, json);
    reader->end = reader->at + length;
    int rc = field->kind == MESSAGE_TEXTS ? read_entry(reader, field, object)
                                          : read_fields(reader, field->nested, object);
    reader->end = end;
    if (store(reader, message, field, json, object) < 0)
        return -1;
    return rc;
}

static int read_sized(struct reader *reader, const struct message *message,
                      const struct message_field *field, json_t *json)
{
    size_t length;
    if (read_length(reader, &length) < 0)
        return -1;
    switch (field->kind) {
    case MESSAGE_STRING:
        return store(reader, message, field, json, make_text(reader, field->name, length));
    case MESSAGE_BYTES:
        return store(reader, message, field, json, make_base64(reader, length));
    case MESSAGE_TIMESTAMP:
        return skip_bytes(reader, length);
    default:
        return read_object(reader, message, field, json, length);
    }
}

static int read_field(struct reader *reader, const struct message *message,
                      const struct message_field *field, enum message_wire wire, json_t *json)
{
    if (!is_number(field->kind) && wire == WIRE_BYTES)
        return read_sized(reader, message, field, json);
    if (is_number(field->kind) && wire == WIRE_VARINT)
        return store(reader, message, field, json, read_number(reader, field->kind));
    if (is_number(field->kind) && wire == WIRE_BYTES && field->presence == MESSAGE_REPEATED)
        return read_packed(reader, message, field, json);
    return rpc_error_set(reader->error, RPC_INVALID_ARGUMENT,
                         "%s has wire type %d, which does not belong to its type", field->name,
                         (int)wire);
}

static int read_fields(struct reader *reader, const struct message *message, json_t *json)
{
    while (reader->at < reader->end) {
        const struct message_field *field = NULL;
        struct tag tag;
        if (read_tag(reader, &tag) < 0)
            return -1;
        for (size_t i = 0; i < message->count && !field; i++)
            if (message->fields[i].number == tag.number)
                field = &message->fields[i];
        if (field ? read_field(reader, message, field, tag.wire, json) < 0 : skip(reader, tag) < 0)
            return -1;
    }
    return 0;
}

json_t *message_read(const struct message *message, const char *data, size_t size,
                     struct rpc_error *error)
{
    const unsigned char *bytes = (const unsigned char *)(size ? data : "");
    struct reader reader = {.at = bytes, .end = bytes + size, .error = error};
    json_t *json = json_object();
    if (read_fields(&reader, message, json) == 0)
        return json;
    json_decref(json);
    return NULL;
}
