/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading protobuf messages in their JSON form. An absent field and null are the default. A field
 * is found under its lowerCamelCase and its snake_case name. Unknown fields are ignored, except by
 * proto_check_names(). Each function fails with RPC_INVALID_ARGUMENT on a value of another type.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/common/rpc_error.h"

/* Read the body of a request or a message: a JSON object. No body, null, and [], which is an empty
 * object of PHP, are an object without fields. Return a new reference; NULL with *error. */
json_t *proto_read(const char *text, size_t size, struct rpc_error *error);

/* Refuse a field that is not in the list, which ends with NULL. */
int proto_check_names(const json_t *message, const char *const names[], struct rpc_error *error);

/* Return the field's value, or NULL when it is absent or null. name is in lowerCamelCase. */
const json_t *proto_field(const json_t *message, const char *name);

/* Refuse a message without the field. Errors of this and of the next functions name the field, as
 * the message spells it; within another object see rpc_error_within(). Always returns -1. */
int proto_missing(const json_t *message, const char *name, struct rpc_error *error);

/* Read a string, an object or an array, which belongs to the message; the default of a string is
 * "", of the others NULL. An empty array for an object is the default, too. */
int proto_string(const json_t *message, const char *name, const char **value,
                 struct rpc_error *error);
int proto_object(const json_t *message, const char *name, const json_t **value,
                 struct rpc_error *error);
int proto_array(const json_t *message, const char *name, const json_t **value,
                struct rpc_error *error);
int proto_bool(const json_t *message, const char *name, bool fallback, bool *value,
               struct rpc_error *error);

/* Read an integer: a number or its decimal digits in a string. Default 0. */
int proto_integer(const json_t *message, const char *name, int64_t min, int64_t max, int64_t *value,
                  struct rpc_error *error);

/* Read bytes: base64, standard or URL-safe, padded or not. The caller frees *data (never NULL). */
int proto_bytes(const json_t *value, const char *name, char **data, size_t *size,
                struct rpc_error *error);

/* Return a name from outside as a JSON string: where it is not UTF-8, the replacement character. */
json_t *proto_text(const char *text);
