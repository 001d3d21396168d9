/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/mem.h"
#include "base/str.h"

#define JSON_MAX (256 * 1024) /* bytes of a file with rules, services or hooks */

void input_text(json_t *body, const char *member, const char *value)
{
    if (value)
        json_object_set_new(body, member, json_string(value));
}

int input_number(json_t *body, const char *member, const char *value, const char *option,
                 struct error **err)
{
    uint64_t number;
    if (!value)
        return 0;
    if (str_parse_u64(value, 1, INT32_MAX, &number) < 0)
        return cli_misuse(err, "%s must be a whole number of 1 or more, not '%s'", option, value);
    json_object_set_new(body, member, json_integer((json_int_t)number));
    return 0;
}

int input_duration(json_t *body, const char *member, const char *text, struct error **err)
{
    uint64_t seconds;
    if (!text)
        return 0;
    if (duration_parse(text, &seconds) < 0)
        return cli_misuse(err, "'%s' is not a duration, such as 300, 30m, 1h30m or 1d", text);
    json_object_set_new(body, member, json_integer((json_int_t)seconds));
    return 0;
}

void input_time(json_t *body, const char *member, const char *text)
{
    char at[CLOCK_ISO8601_SIZE];
    uint64_t seconds;
    if (text && duration_parse(text, &seconds) == 0)
        text = clock_format_iso8601(clock_in_s(seconds), at);
    input_text(body, member, text);
}

int input_file(const char *path, size_t max, char **text, struct error **err)
{
    autofclose FILE *file = fopen(path, "re");
    buffer_auto content = BUFFER_INIT(max);
    char bytes[8192];
    size_t size;
    if (!file)
        return error_set_errno(err, ERR_INVALID_REQUEST, errno, "cannot read %s", path);
    while ((size = fread(bytes, 1, sizeof bytes, file)) > 0)
        buffer_append(&content, bytes, size);
    if (ferror(file))
        return error_set_errno(err, ERR_INVALID_REQUEST, errno, "cannot read %s", path);
    if (buffer_overflowed(&content))
        return error_set(err, ERR_INVALID_REQUEST, "%s has more than %zu KiB", path, max >> 10);
    if (content.size && memchr(content.data, '\0', content.size))
        return error_set(err, ERR_INVALID_REQUEST, "%s is not a text file", path);
    *text = buffer_steal(&content);
    return 0;
}

int input_pair(json_t *object, const char *value, struct error **err)
{
    const char *equals = strchr(value, '=');
    if (!equals || equals == value)
        return cli_misuse(err, "write NAME=VALUE, not '%s'", value);
    autofree char *name = xstrndup(value, (size_t)(equals - value));
    json_t *text = json_string(equals + 1);
    if (!text)
        return cli_misuse(err, "the value of %s is not text in UTF-8", name);
    json_object_set_new(object, name, text);
    return 0;
}

void input_texts(const struct cli_call *call, const char *option, json_t *body, const char *member)
{
    json_t *texts = json_array();
    const char *value;
    size_t at = 0;
    while ((value = cli_next_value(call, option, &at)))
        json_array_append_new(texts, json_string(value));
    if (json_array_size(texts))
        json_object_set(body, member, texts);
    json_decref(texts);
}

int input_json(json_t *body, const char *member, const char *path, json_type type,
               struct error **err)
{
    autofree char *text = NULL;
    json_error_t problem;
    if (!path)
        return 0;
    if (input_file(path, JSON_MAX, &text, err) < 0)
        return -1;
    json_t *value = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);
    bool is_none = type == JSON_OBJECT && json_is_null(value);
    if (!value || (json_typeof(value) != type && !is_none)) {
        json_decref(value);
        return error_set(err, ERR_INVALID_REQUEST, "%s is not a JSON %s of %s", path,
                         type == JSON_ARRAY ? "array" : "object", member);
    }
    json_object_set_new(body, member, value);
    return 0;
}

int input_network(const struct cli_call *call, json_t *body, struct error **err)
{
    if (cli_flag(call, "no-internet") && cli_flag(call, "internet"))
        return cli_misuse(err, "give --internet or --no-internet, not both");
    if (cli_flag(call, "no-internet"))
        json_object_set_new(body, "allow_internet_access", json_false());
    if (cli_flag(call, "internet"))
        json_object_set_new(body, "allow_internet_access", json_true());
    if (cli_flag(call, "ask"))
        json_object_set_new(body, "ask", json_true());
    input_texts(call, "allow", body, "allow_out");
    input_texts(call, "deny", body, "deny_out");
    input_texts(call, "profile", body, "egress_profiles");
    return input_json(body, "egress_proxy", cli_value(call, "egress-proxy"), JSON_OBJECT, err) < 0
               ? -1
               : input_json(body, "rules", cli_value(call, "rules"), JSON_ARRAY, err);
}
