/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the agent reads without the HTTP library: the first byte chooses which parser gets the rest.
 * Each is also held to what its header promises. */
#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/common/coding.h"
#include "agent/common/environment.h"
#include "agent/common/gunzip.h"
#include "agent/common/message.h"
#include "agent/common/paths.h"
#include "agent/common/proto.h"
#include "agent/common/users.h"
#include "agent/files/files_range.h"
#include "agent/files/multipart.h"
#include "agent/filesystem/fs_messages.h"
#include "agent/framework/envelope.h"
#include "agent/process/process_messages.h"
#include "agent/relay_head.h"
#include "base/buffer.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_envelope(const char *data, size_t size)
{
    struct envelope envelope;
    struct rpc_error error;
    if (envelope_parse(data, size, &envelope, &error) == 0)
        assert(envelope.message == data + ENVELOPE_HEAD && envelope.size == size - ENVELOPE_HEAD);
    if (envelope_next(data, size, size / 2, &envelope, &error) == 1)
        assert(envelope.message == data + ENVELOPE_HEAD && envelope.size <= size / 2 &&
               envelope.size <= size - ENVELOPE_HEAD);
}

static void try_path(const char *data, size_t size)
{
    static const struct user user = {.name = (char *)"user", .home = (char *)"/home/user"};
    autofree char *text = xstrndup(data, size);
    autofree char *path = NULL;
    struct rpc_error error;
    if (paths_resolve(text, &user, &path, &error) < 0)
        return;
    size_t length = strlen(path);
    assert(path[0] == '/' && length <= PATH_LENGTH_MAX);
    assert(length == 1 || path[length - 1] != '/');
    assert(!strstr(path, "//") && !strstr(path, "/./") && !strstr(path, "/../"));
    assert(*paths_base(path));
}

/* Fields separated by line feeds. */
static char *next_field(char **rest)
{
    char *field = strsep(rest, "\n");
    return field && *field ? field : NULL;
}

static void try_conditions(const char *data, size_t size)
{
    autofree char *text = xstrndup(data, size);
    char *rest = text;
    struct file_conditions conditions;
    conditions.range = next_field(&rest);
    conditions.if_range = next_field(&rest);
    conditions.if_none_match = next_field(&rest);
    conditions.if_match = next_field(&rest);
    conditions.if_modified_since = next_field(&rest);
    conditions.if_unmodified_since = next_field(&rest);
    const struct file_version version = {
        .etag = "\"e\"", .modified_at_s = 784111777, .size = size * 1000};
    struct file_parts parts;
    uint64_t total = 0;
    int status = files_select(&conditions, &version, &parts);
    assert(status == 200 || status == 206 || status == 304 || status == 412 || status == 416);
    if (status != 200 && status != 206)
        return;
    assert(parts.count >= 1 && parts.count <= (status == 200 ? 1 : FILE_PARTS_MAX));
    for (size_t i = 0; i < parts.count; i++) {
        const struct file_part *part = &parts.items[i];
        assert(part->first <= version.size && part->length <= version.size - part->first);
        assert(status == 200 || part->length > 0);
        total += part->length;
    }
    assert(total <= version.size);
}

static void try_relay_head(const char *data, size_t size)
{
    struct relay_head head;
    size_t interim;
    relay_answer_begins(data, size, &interim);
    assert(interim <= size);
    ssize_t head_size = relay_head_parse(data, size, &head);
    if (head_size <= 0)
        return;
    assert((size_t)head_size <= size);
    autofree char *copy = xmemdup(data, size);
    size_t left = relay_head_strip(copy, (size_t)head_size, size);
    assert(left <= size);
    struct relay_head again;
    size_t left_head = (size_t)head_size - (size - left);
    ssize_t rc = relay_head_parse(copy, left_head, &again);
    assert(rc >= 0 && !again.port && !again.secret);
}

static void try_proto(const char *data, size_t size)
{
    json_auto_t *json = json_loadb(data, size, JSON_DECODE_ANY, NULL);
    struct rpc_error error;
    int64_t number;
    bool flag;
    const char *text;
    const json_t *value;
    char *bytes = NULL;
    size_t bytes_size;
    environment_auto environment = {NULL, 0, 0};
    if (!json)
        return;
    if (proto_integer(json, "pid", 0, 100, &number, &error) == 0)
        assert(number >= 0 && number <= 100);
    proto_bool(json, "stdin", true, &flag, &error);
    proto_string(json, "cwd", &text, &error);
    proto_object(json, "twoWords", &value, &error);
    proto_array(json, "args", &value, &error);
    if (proto_bytes(json, "pty", &bytes, &bytes_size, &error) == 0)
        assert(bytes_size <= size);
    free(bytes);
    environment_set_json(&environment, json, &error);
    assert(environment.bytes <= ENVIRONMENT_BYTES_MAX);
}

static void try_coding(const char *data, size_t size)
{
    autofree char *text = xstrndup(data, size);
    enum coding coding = coding_choose(text);
    assert(coding <= CODING_NONE);
    assert(strpbrk(text, "0") || (coding != CODING_NONE && coding != CODING_GZIP_ONLY));
}

static int take(void *context, const char *data, size_t size, struct rpc_error *error)
{
    size_t *taken = context;
    assert(size && data);
    *taken += size;
    return *taken > (1 << 20) ? rpc_error_set(error, RPC_NO_SPACE, "enough") : 0;
}

/* In two pieces, as the network cuts it. */
static void try_gunzip(const char *data, size_t size)
{
    struct gunzip *gunzip = gunzip_new();
    struct rpc_error error;
    size_t taken = 0, first = size / 3;
    if (gunzip_data(gunzip, data, first, take, &taken, &error) == 0 &&
        gunzip_data(gunzip, data + first, size - first, take, &taken, &error) == 0)
        gunzip_end(gunzip, &error);
    gunzip_free(gunzip);
    buffer_auto whole = BUFFER_INIT(1 << 20);
    if (gunzip_whole(data, size, &whole, &error) == 0)
        assert(whole.size <= 1 << 20);
}

static int on_part(void *context, const char *name, const char *file_name, struct rpc_error *error)
{
    (void)error;
    return buffer_printf(context, "<%s|%s>", name, file_name ? file_name : "-");
}

static int on_part_data(void *context, const char *data, size_t size, struct rpc_error *error)
{
    (void)error;
    return buffer_append(context, data, size);
}

static int on_part_end(void *context, struct rpc_error *error)
{
    (void)error;
    return buffer_append_string(context, "</>");
}

static void read_multipart(const char *data, size_t size, size_t piece, struct buffer *told)
{
    static const struct multipart_events events = {on_part, on_part_data, on_part_end};
    struct multipart *multipart;
    struct rpc_error error;
    int rc = multipart_new("multipart/form-data; boundary=b", &events, told, &multipart, &error);
    assert(rc == 0);
    for (size_t at = 0; at < size && rc == 0; at += piece)
        rc = multipart_data(multipart, data + at, size - at < piece ? size - at : piece, &error);
    buffer_append_string(told,
                         rc < 0 || multipart_end(multipart, &error) < 0 ? "refused" : "whole");
    multipart_free(multipart);
}

/* However the network cuts it, it says the same. */
static void try_multipart(const char *data, size_t size)
{
    buffer_auto at_once = BUFFER_INIT(1 << 20);
    read_multipart(data, size, size, &at_once);
    for (size_t piece = 1; piece < 4; piece++) {
        buffer_auto told = BUFFER_INIT(1 << 20);
        read_multipart(data, size, piece, &told);
        assert(told.size == at_once.size && !memcmp(told.data, at_once.data, told.size));
    }
}

static void read_and_write(const struct message *message, const char *data, size_t size)
{
    struct rpc_error error;
    json_auto_t *json = message_read(message, data, size, &error);
    if (!json)
        return;
    buffer_auto once = BUFFER_INIT(1 << 24);
    buffer_auto twice = BUFFER_INIT(1 << 24);
    message_write(message, json, &once);
    json_auto_t *again = message_read(message, once.data, once.size, &error);
    assert(again);
    message_write(message, again, &twice);
    assert(twice.size == once.size);
    assert(!once.size || !memcmp(twice.data, once.data, once.size));
}

/* What is read is written as something that reads the same. */
static void try_message(const char *data, size_t size)
{
    static const struct message *const messages[] = {
        &process_message_start, &process_message_event,
        &process_message_input, &process_message_input_stream,
        &process_message_list,  &fs_message_watched,
        &fs_message_listed,
    };
    if (size)
        read_and_write(messages[(unsigned char)data[0] % ARRAY_SIZE(messages)], data + 1, size - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const parsers[])(const char *, size_t) = {
        try_envelope, try_path,   try_conditions, try_relay_head, try_proto,
        try_coding,   try_gunzip, try_multipart,  try_message};
    if (!size)
        return 0;
    /* An exact copy, so that reading past the end is seen. */
    autofree char *copy = xmemdup(data + 1, size - 1);
    parsers[data[0] % ARRAY_SIZE(parsers)](copy, size - 1);
    return 0;
}
