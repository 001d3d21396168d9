/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of the services in their binary form. A message is a table of rows, one for each field.
 * The handlers know only its JSON form, with every name in lowerCamelCase and bytes in base64.
 * Reading creates this form, and writing starts from it. A member without a row has no binary form.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/common/rpc_error.h"
#include "base/buffer.h"
#include "base/mem.h"

/* Values of one message, with all nested ones: far more than any call needs. It bounds the memory
 * for a body of many empty values. */
#define MESSAGE_VALUES_MAX 65536

enum message_kind {
    MESSAGE_BOOL,
    MESSAGE_UINT32,
    MESSAGE_INT64,
    MESSAGE_SINT32,
    MESSAGE_ENUM, /* read as a number, written by its name */
    MESSAGE_STRING,
    MESSAGE_BYTES,
    MESSAGE_TIMESTAMP, /* google.protobuf.Timestamp, RFC 3339 in JSON; is only written */
    MESSAGE_NESTED,
    MESSAGE_TEXTS, /* map<string, string> */
};

enum message_presence {
    MESSAGE_IMPLICIT, /* the default is not written */
    MESSAGE_EXPLICIT,
    MESSAGE_ONEOF, /* one of these in a message: the last that is read */
    MESSAGE_REPEATED,
};

struct message_enum {
    const char *name;
    unsigned number;
};

struct message_field {
    uint32_t number;
    const char *name; /* lowerCamelCase */
    enum message_kind kind;
    enum message_presence presence;
    const struct message *nested;      /* MESSAGE_NESTED */
    const struct message_enum *values; /* MESSAGE_ENUM; ends with a name NULL */
};

/* Tables hold no message inside itself. */
struct message {
    const struct message_field *fields;
    size_t count;
};

#define MESSAGE(rows)          \
    {                          \
        rows, ARRAY_SIZE(rows) \
    }

/* Read a message as a new reference, or NULL with an error: RPC_INVALID_ARGUMENT for other bytes,
 * and for text that is not UTF-8 or holds NUL; RPC_TOO_LARGE past MESSAGE_VALUES_MAX. Fields
 * without a row are skipped. */
json_t *message_read(const struct message *message, const char *data, size_t size,
                     struct rpc_error *error);

/* Append it; members of another type than their row's count as absent. */
void message_write(const struct message *message, const json_t *json, struct buffer *out);

/* Append a message of one element of a repeated nested field: several make a list. */
void message_write_element(const struct message_field *field, const json_t *element,
                           struct buffer *out);

/* Append the message that holds nothing but bytes where a path of names leads (all but the last
 * are nested). */
void message_write_bytes(const struct message *message, const char *const *path, size_t depth,
                         const void *data, size_t size, struct buffer *out);
