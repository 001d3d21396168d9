/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/metadata.h"

#include <stdbool.h>
#include <string.h>

#include "base/json_text.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/schema.h"

/* bytes of a value, before its characters are counted */
#define TEXT_MAX (METADATA_VALUE_MAX * 4)

static int refuse(const char *key, struct error **err, const char *sentence)
{
    autofree char *pointer = schema_pointer("/metadata", key);
    return error_set_field(err, ERR_INVALID_REQUEST, pointer, "%s", sentence);
}

static int check_key(const char *key, struct error **err)
{
    if (*key && str_characters(key) <= METADATA_KEY_MAX)
        return 0;
    return refuse(key, err, "A metadata key has 1 to 64 characters.");
}

/* Check for a string of the client, as opposed to a number whose text was kept. */
static bool is_text(const json_t *value)
{
    const char *text = json_string_value(value);
    return text && (text[0] != JSON_TEXT_KEPT || json_string_length(value) < 2 ||
                    text[1] == JSON_TEXT_KEPT);
}

/* Return the value as a string, or NULL with an error. */
static json_t *convert(const char *key, const json_t *value, struct error **err)
{
    if (check_key(key, err) < 0)
        return NULL;
    buffer_auto text = BUFFER_INIT(TEXT_MAX);
    if (is_text(value))
        buffer_append(&text, json_string_value(value), json_string_length(value));
    else
        json_text_kept(&text, value);
    if (strlen(buffer_string(&text)) != text.size) {
        refuse(key, err, "A metadata value cannot have a NUL character.");
        return NULL;
    }
    if (buffer_overflowed(&text) || str_characters(buffer_string(&text)) > METADATA_VALUE_MAX) {
        refuse(key, err, "A metadata value has at most 512 characters.");
        return NULL;
    }
    return json_string(buffer_string(&text));
}

static int merge(json_t *into, const json_t *values, bool null_removes, struct error **err)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)values, key, value) {
        if (json_is_null(value)) {
            if (!null_removes)
                return refuse(key, err, "A metadata value cannot be null.");
            json_object_del(into, key);
            continue;
        }
        json_t *text = convert(key, value, err);
        if (!text)
            return -1;
        json_object_set_new(into, key, text);
    }
    if (json_object_size(into) > METADATA_KEYS_MAX)
        return error_set_field(err, ERR_INVALID_REQUEST, "/metadata",
                               "A sandbox has at most %d metadata keys.", METADATA_KEYS_MAX);
    return 0;
}

int metadata_read(const json_t *object, char **text, struct error **err)
{
    json_auto_t *metadata = json_object();
    if (merge(metadata, object, false, err) < 0)
        return -1;
    *text = json_dumps(metadata, JSON_COMPACT);
    return 0;
}

int metadata_patch(const char *stored, const json_t *patch, char **text, struct error **err)
{
    json_auto_t *metadata = json_loads(stored, 0, NULL);
    if (!json_is_object(metadata))
        return error_set(err, ERR_INTERNAL, "the stored metadata is not a JSON object");
    if (json_is_null(patch))
        json_object_clear(metadata);
    else if (merge(metadata, patch, true, err) < 0)
        return -1;
    *text = json_dumps(metadata, JSON_COMPACT);
    return 0;
}
