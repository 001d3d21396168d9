/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/common/proto.h"

#include <ctype.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/str.h"

#define NAME_MAX_LENGTH 64

static void to_snake_case(const char *name, char out[2 * NAME_MAX_LENGTH + 1])
{
    size_t size = 0;
    for (; *name && size + 2 < 2 * NAME_MAX_LENGTH; name++) {
        if (isupper((unsigned char)*name))
            out[size++] = '_';
        out[size++] = (char)tolower((unsigned char)*name);
    }
    out[size] = '\0';
}

static json_t *parse(const char *text, size_t size, struct rpc_error *error)
{
    json_error_t where;
    if (json_size_of(text, size) != JSON_FITS) {
        rpc_error_set(error, RPC_INVALID_ARGUMENT,
                      "the message has more than %d values, or more than %d levels of nesting",
                      JSON_VALUES_MAX, JSON_DEPTH_MAX);
        return NULL;
    }
    json_t *message = json_read(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
    if (!message && json_error_code(&where) == json_error_null_character)
        rpc_error_set(error, RPC_INVALID_ARGUMENT,
                      "a text in the message contains a NUL character");
    else if (!message)
        rpc_error_set(error, RPC_INVALID_ARGUMENT, "the message is not valid JSON: %s (byte %d)",
                      where.text, where.position);
    return message;
}

static bool is_empty_array(const json_t *value)
{
    return json_is_array(value) && !json_array_size(value);
}

json_t *proto_read(const char *text, size_t size, struct rpc_error *error)
{
    json_auto_t *message = size ? parse(text, size, error) : json_null();
    if (json_is_null(message) || is_empty_array(message))
        return json_object();
    if (message && !json_is_object(message))
        rpc_error_set(error, RPC_INVALID_ARGUMENT, "the message must be a JSON object");
    return json_is_object(message) ? steal_pointer(&message) : NULL;
}

int proto_check_names(const json_t *message, const char *const names[], struct rpc_error *error)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)message, name, value) {
        size_t i = 0;
        while (names[i] && strcmp(name, names[i]) != 0)
            i++;
        if (names[i])
            continue;
        autofree char *field = xasprintf("/%s", name);
        return rpc_error_set_unknown(error, "field", field, name, names);
    }
    return 0;
}

const json_t *proto_field(const json_t *message, const char *name)
{
    const json_t *value = json_object_get(message, name);
    if (!value) {
        char snake[2 * NAME_MAX_LENGTH + 1];
        to_snake_case(name, snake);
        value = json_object_get(message, snake);
    }
    return json_is_null(value) ? NULL : value;
}

/* The pointer of a field, under the name that the message has for it. */
static const char *pointer_of(const json_t *message, const char *name,
                              char pointer[2 * NAME_MAX_LENGTH + 2])
{
    pointer[0] = '/';
    to_snake_case(name, pointer + 1);
    if (!json_object_get(message, pointer + 1))
        snprintf(pointer + 1, 2 * NAME_MAX_LENGTH + 1, "%s", name);
    return pointer;
}

static int bad_type(const json_t *message, const char *name, const char *wanted,
                    struct rpc_error *error)
{
    char pointer[2 * NAME_MAX_LENGTH + 2];
    return rpc_error_set_field(error, pointer_of(message, name, pointer), "%s must be %s", name,
                               wanted);
}

int proto_missing(const json_t *message, const char *name, struct rpc_error *error)
{
    char pointer[2 * NAME_MAX_LENGTH + 2];
    return rpc_error_set_field(error, pointer_of(message, name, pointer), "%s is missing", name);
}

int proto_string(const json_t *message, const char *name, const char **value,
                 struct rpc_error *error)
{
    const json_t *field = proto_field(message, name);
    *value = "";
    if (!field)
        return 0;
    if (!json_is_string(field))
        return bad_type(message, name, "a string", error);
    *value = json_string_value(field);
    return 0;
}

int proto_object(const json_t *message, const char *name, const json_t **value,
                 struct rpc_error *error)
{
    const json_t *field = proto_field(message, name);
    *value = is_empty_array(field) ? NULL : field;
    return !*value || json_is_object(*value) ? 0 : bad_type(message, name, "an object", error);
}

int proto_array(const json_t *message, const char *name, const json_t **value,
                struct rpc_error *error)
{
    *value = proto_field(message, name);
    return !*value || json_is_array(*value) ? 0 : bad_type(message, name, "an array", error);
}

int proto_bool(const json_t *message, const char *name, bool fallback, bool *value,
               struct rpc_error *error)
{
    const json_t *field = proto_field(message, name);
    *value = field ? json_is_true(field) : fallback;
    return !field || json_is_boolean(field) ? 0 : bad_type(message, name, "true or false", error);
}

int proto_integer(const json_t *message, const char *name, int64_t min, int64_t max, int64_t *value,
                  struct rpc_error *error)
{
    char pointer[2 * NAME_MAX_LENGTH + 2];
    const json_t *field = proto_field(message, name);
    *value = 0;
    if (!field)
        return 0;
    if (json_is_integer(field)) {
        *value = json_integer_value(field);
    } else if (json_is_real(field) && json_real_value(field) >= (double)min &&
               json_real_value(field) <= (double)max &&
               (double)(int64_t)json_real_value(field) == json_real_value(field)) {
        *value = (int64_t)json_real_value(field);
    } else if (json_is_string(field)) {
        const char *text = json_string_value(field);
        char *end;
        errno = 0;
        *value = strtoll(text, &end, 10);
        if (errno || end == text || *end || isspace((unsigned char)*text) || *text == '+')
            return bad_type(message, name, "an integer", error);
    } else {
        return bad_type(message, name, "an integer", error);
    }
    if (*value < min || *value > max)
        return rpc_error_set_field(error, pointer_of(message, name, pointer),
                                   "%s must be %lld to %lld", name, (long long)min, (long long)max);
    return 0;
}

int proto_bytes(const json_t *value, const char *name, char **data, size_t *size,
                struct rpc_error *error)
{
    if (!json_is_string(value))
        return bad_type(NULL, name, "base64", error);
    const char *text = json_string_value(value);
    size_t length = json_string_length(value);
    bool url_safe = strpbrk(text, "-_");
    bool padded = length && text[length - 1] == '=';
    int variant =
        url_safe
            ? (padded ? sodium_base64_VARIANT_URLSAFE : sodium_base64_VARIANT_URLSAFE_NO_PADDING)
            : (padded ? sodium_base64_VARIANT_ORIGINAL : sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    size_t room = length / 4 * 3 + 3;
    autofree char *bytes = xmalloc(room);
    if (sodium_base642bin((unsigned char *)bytes, room, text, length, NULL, size, NULL, variant) !=
        0)
        return bad_type(NULL, name, "base64", error);
    *data = steal_pointer(&bytes);
    return 0;
}

/* Length of the well-formed character at the beginning, or 0. */
static size_t character_length(const char *text, size_t left)
{
    for (size_t length = 1; length <= 4 && length <= left; length++)
        if (str_is_utf8(text, length))
            return length;
    return 0;
}

json_t *proto_text(const char *text)
{
    size_t left = strlen(text);
    if (str_is_utf8(text, left))
        return json_stringn_nocheck(text, left);
    buffer_auto mended = BUFFER_INIT(3 * left);
    while (left) {
        size_t length = character_length(text, left);
        if (length)
            buffer_append(&mended, text, length);
        else
            buffer_append_string(&mended, "\xef\xbf\xbd");
        length = length ? length : 1;
        text += length;
        left -= length;
    }
    return json_stringn_nocheck(buffer_string(&mended), mended.size);
}
