/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "agent/common/message.h"
#include "agent/filesystem/fs_messages.h"
#include "agent/process/process_messages.h"

#include <string.h>

static const struct message_field inner_rows[] = {
    {.number = 1, .name = "n", .kind = MESSAGE_UINT32},
    {.number = 2, .name = "s", .kind = MESSAGE_STRING},
};
static const struct message inner = MESSAGE(inner_rows);

static const struct message_enum colours[] = {{"RED", 1}, {"BLUE", 300}, {NULL, 0}};

static const struct message_field rows[] = {
    {.number = 1, .name = "flag", .kind = MESSAGE_BOOL},
    {.number = 2, .name = "small", .kind = MESSAGE_UINT32},
    {.number = 3, .name = "large", .kind = MESSAGE_INT64},
    {.number = 4, .name = "turned", .kind = MESSAGE_SINT32},
    {.number = 5, .name = "colour", .kind = MESSAGE_ENUM, .values = colours},
    {.number = 6, .name = "text", .kind = MESSAGE_STRING},
    {.number = 7, .name = "bytes", .kind = MESSAGE_BYTES},
    {.number = 8, .name = "at", .kind = MESSAGE_TIMESTAMP},
    {.number = 9, .name = "inner", .kind = MESSAGE_NESTED, .nested = &inner},
    {.number = 10, .name = "texts", .kind = MESSAGE_TEXTS},
    {.number = 11, .name = "numbers", .kind = MESSAGE_SINT32, .presence = MESSAGE_REPEATED},
    {.number = 12,
     .name = "list",
     .kind = MESSAGE_NESTED,
     .presence = MESSAGE_REPEATED,
     .nested = &inner},
    {.number = 13, .name = "this", .kind = MESSAGE_STRING, .presence = MESSAGE_ONEOF},
    {.number = 14,
     .name = "that",
     .kind = MESSAGE_NESTED,
     .presence = MESSAGE_ONEOF,
     .nested = &inner},
    {.number = 300, .name = "said", .kind = MESSAGE_BOOL, .presence = MESSAGE_EXPLICIT},
};
static const struct message every_kind = MESSAGE(rows);

#define READ(bytes, error) message_read(&every_kind, bytes, sizeof(bytes) - 1, error)

static void assert_json(json_t *json, const char *expected)
{
    assert_non_null(json);
    autofree char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(text, expected);
    json_decref(json);
}

#define assert_reads(bytes, expected)               \
    do {                                            \
        struct rpc_error error = {.message = ""};   \
        assert_json(READ(bytes, &error), expected); \
    } while (0)

TEST(reads_every_kind)
{
    assert_reads("", "{}");
    assert_reads("\x08\x01\x10\xac\x02", "{\"flag\":true,\"small\":300}");
    assert_reads("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "{\"large\":-1}");
    assert_reads("\x20\x03", "{\"turned\":-2}");
    assert_reads("\x28\xac\x02", "{\"colour\":300}");
    assert_reads("\x32\x02\xc3\xa4", "{\"text\":\"\xc3\xa4\"}");
    assert_reads("\x3a\x03\x00\xff\x80", "{\"bytes\":\"AP+A\"}");
    assert_reads("\x4a\x02\x08\x05", "{\"inner\":{\"n\":5}}");
    assert_reads("\xe0\x12\x00", "{\"said\":false}");
}

TEST(reads_numbers_as_the_language_has_it)
{
    /* One of 64 bits where 32 are wanted is cut; longer forms of a number are the same number. */
    assert_reads("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "{\"small\":4294967295}");
    assert_reads("\x10\x81\x80\x80\x00", "{\"small\":1}");
    assert_reads("\x08\x80\x02", "{\"flag\":true}");
}

TEST(reads_repeated_fields)
{
    assert_reads("\x58\x02\x58\x03", "{\"numbers\":[1,-2]}");
    assert_reads("\x5a\x03\x02\x03\x00", "{\"numbers\":[1,-2,0]}");
    assert_reads("\x58\x02\x5a\x01\x03\x5a\x00\x58\x00", "{\"numbers\":[1,-2,0]}");
    assert_reads("\x62\x02\x08\x01\x62\x00", "{\"list\":[{\"n\":1},{}]}");
}

TEST(reads_maps)
{
    assert_reads("\x52\x06\x0a\x01\x61\x12\x01\x62", "{\"texts\":{\"a\":\"b\"}}");
    /* In any order, with nothing for what is empty, with what nobody knows; the last one holds. */
    assert_reads("\x52\x09\x12\x01\x62\x18\x05\x0a\x02xy"
                 "\x52\x03\x0a\x01z"
                 "\x52\x07\x0a\x02xy\x12\x01\x63",
                 "{\"texts\":{\"xy\":\"c\",\"z\":\"\"}}");
}

TEST(merges_and_replaces)
{
    assert_reads("\x10\x01\x10\x02", "{\"small\":2}");
    assert_reads("\x4a\x02\x08\x05\x4a\x03\x12\x01x", "{\"inner\":{\"n\":5,\"s\":\"x\"}}");
    assert_reads("\x6a\x01x\x72\x02\x08\x01", "{\"that\":{\"n\":1}}");
    assert_reads("\x72\x02\x08\x01\x6a\x01x", "{\"this\":\"x\"}");
    assert_reads("\x72\x02\x08\x01\x72\x03\x12\x01x", "{\"that\":{\"n\":1,\"s\":\"x\"}}");
}

TEST(skips_what_it_does_not_know)
{
    /* Fields 99 of each wire type, in front of one that is known; a group holds others. */
    assert_reads("\x98\x06\xff\x01\x10\x07", "{\"small\":7}");
    assert_reads("\x99\x06zzzzzzzz\x10\x07", "{\"small\":7}");
    assert_reads("\x9a\x06\x02zz\x10\x07", "{\"small\":7}");
    assert_reads("\x9d\x06zzzz\x10\x07", "{\"small\":7}");
    assert_reads("\x9b\x06\x10\x05\x9b\x06\x9c\x06\x9c\x06\x10\x07", "{\"small\":7}");
}

TEST(refuses_what_is_hostile)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *says;
    } cases[] = {
#define CASE(text, says) {text, sizeof(text) - 1, says}
        CASE("\x08", "is cut off"),
        CASE("\x80", "is cut off"),
        CASE("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "64 bits"),
        CASE("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "64 bits"),
        CASE("\x00\x01", "a field has the number 0"),
        CASE("\x80\x80\x80\x80\x10\x01", "a field has the number 0"),
        CASE("\x32\x05xxxx", "is longer than the message"),
        CASE("\x32\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", "is longer than the message"),
        CASE("\x4a\x01\x08", "is cut off"),
        CASE("\x4a\x02\x12\x05xxxxx", "is longer than the message"),
        CASE("\x52\x02\x0a\x05xxxxx", "is longer than the message"),
        CASE("\x5a\x01\x80", "is cut off"),
        CASE("\x99\x06zzz", "is longer than the message"),
        CASE("\x9d\x06zzz", "is longer than the message"),
        CASE("\x9e\x06", "unknown wire type"),
        CASE("\x9f\x06", "unknown wire type"),
        CASE("\x9c\x06", "a group ends that has no start"),
        CASE("\x9b\x06\xa4\x06", "a group ends that has no start"),
        CASE("\x9b\x06", "is cut off"),
        CASE("\x12\x01x", "small has wire type 2"),
        CASE("\x30\x01", "text has wire type 0"),
        CASE("\x4b\x4c", "inner has wire type 3"),
        CASE("\x4d zzz", "inner has wire type 5"),
        CASE("\x52\x02\x08\x01", "an entry of texts is not text"),
        CASE("\x32\x02\xc3\x28", "text is not valid UTF-8"),
        CASE("\x32\x03\xed\xa0\x80", "text is not valid UTF-8"),
        CASE("\x32\x02\xc0\x80", "text is not valid UTF-8"),
        CASE("\x52\x03\x0a\x01\xff", "texts is not valid UTF-8"),
        CASE("\x32\x03x\x00y", "text contains a NUL"),
        CASE("\x52\x04\x0a\x02\x00y", "texts contains a NUL"),
        CASE("\x4a\x04\x12\x02\x00y", "s contains a NUL"),
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct rpc_error error = {.message = ""};
        assert_null(message_read(&every_kind, cases[i].bytes, cases[i].size, &error));
        assert_int_equal(error.code, RPC_INVALID_ARGUMENT);
        if (!strstr(error.message, cases[i].says))
            fail_msg("case %zu: '%s' does not say '%s'", i, error.message, cases[i].says);
    }
}

TEST(bounds_groups)
{
    char bytes[200];
    struct rpc_error error;
    memset(bytes, 0xfb, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i += 2)
        memcpy(bytes + i, "\x9b\x06", 2);
    assert_null(message_read(&every_kind, bytes, sizeof bytes, &error));
    assert_non_null(strstr(error.message, "too deeply"));
}

/* Two bytes each become a value of many: so they are counted, however they are spread. */
TEST(bounds_values)
{
    static char bytes[2 * MESSAGE_VALUES_MAX + 2];
    struct rpc_error error;
    for (size_t i = 0; i < sizeof bytes; i += 2)
        memcpy(bytes + i, "\x62\x00", 2);
    json_auto_t *most = message_read(&every_kind, bytes, sizeof bytes - 2, &error);
    assert_int_equal(json_array_size(json_object_get(most, "list")), MESSAGE_VALUES_MAX);
    assert_null(message_read(&every_kind, bytes, sizeof bytes, &error));
    assert_int_equal(error.code, RPC_TOO_LARGE);
    for (size_t i = 0; i < sizeof bytes; i += 2)
        memcpy(bytes + i, "\x52\x00", 2);
    assert_null(message_read(&every_kind, bytes, sizeof bytes, &error));
    assert_int_equal(error.code, RPC_TOO_LARGE);
}

/* --- writing --- */

static void assert_writes(const char *text, const char *expected, size_t size)
{
    json_auto_t *json = json_loads(text, 0, NULL);
    buffer_auto out = BUFFER_INIT(1024);
    assert_non_null(json);
    message_write(&every_kind, json, &out);
    assert_int_equal(out.size, size);
    if (size)
        assert_memory_equal(out.data, expected, size);
}

#define WRITES(text, expected) assert_writes(text, expected, sizeof(expected) - 1)

TEST(writes_every_kind)
{
    WRITES("{\"flag\":true,\"small\":300}", "\x08\x01\x10\xac\x02");
    WRITES("{\"large\":\"-1\"}", "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    WRITES("{\"large\":\"9223372036854775807\"}", "\x18\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
    WRITES("{\"turned\":-1}", "\x20\x01");
    WRITES("{\"turned\":-2147483648}", "\x20\xff\xff\xff\xff\x0f");
    WRITES("{\"turned\":2147483647}", "\x20\xfe\xff\xff\xff\x0f");
    WRITES("{\"colour\":\"BLUE\"}", "\x28\xac\x02");
    WRITES("{\"bytes\":\"AP+A\"}", "\x3a\x03\x00\xff\x80");
    WRITES("{\"at\":\"1970-01-01T00:01:00.000000007Z\"}", "\x42\x04\x08\x3c\x10\x07");
    WRITES("{\"inner\":{}}", "\x4a\x00");
    WRITES("{\"texts\":{\"a\":\"\"}}", "\x52\x05\x0a\x01\x61\x12\x00");
    WRITES("{\"numbers\":[1,0]}", "\x58\x02\x58\x00");
    WRITES("{\"list\":[{\"n\":1},{}]}", "\x62\x02\x08\x01\x62\x00");
}

TEST(leaves_defaults_out)
{
    WRITES("{}", "");
    WRITES("{\"flag\":false,\"small\":0,\"large\":\"0\",\"text\":\"\",\"texts\":{}}", "");
    WRITES("{\"said\":false,\"this\":\"\"}", "\x6a\x00\xe0\x12\x00");
    WRITES("{\"nobody knows\":1}", "");
    WRITES("{\"text\":5,\"inner\":\"x\",\"at\":\"x\",\"colour\":\"GREEN\",\"bytes\":\"%\"}", "");
}

TEST(writes_elements_and_bytes)
{
    buffer_auto out = BUFFER_INIT(1024);
    json_auto_t *one = json_pack("{s:i}", "n", 1);
    message_write_element(&rows[11], one, &out);
    message_write_element(&rows[11], one, &out);
    assert_json(message_read(&every_kind, out.data, out.size, NULL),
                "{\"list\":[{\"n\":1},{\"n\":1}]}");

    static const char *const path[] = {"event", "data", "stderr"};
    for (size_t size = 0; size < 400; size += 57) {
        char bytes[400];
        buffer_auto whole = BUFFER_INIT(1024);
        memset(bytes, 'x', sizeof bytes);
        message_write_bytes(&process_message_event, path, ARRAY_SIZE(path), bytes, size, &whole);
        json_auto_t *read = message_read(&process_message_event, whole.data, whole.size, NULL);
        const json_t *data = json_object_get(json_object_get(read, "event"), "data");
        assert_int_equal(json_string_length(json_object_get(data, "stderr")), (size + 2) / 3 * 4);
        buffer_auto again = BUFFER_INIT(1024);
        message_write(&process_message_event, read, &again);
        assert_int_equal(again.size, whole.size);
        assert_memory_equal(again.data, whole.data, whole.size);
    }
}

/* --- the tables --- */

static void check_table(const struct message *message, unsigned depth)
{
    assert_true(depth < 6);
    for (size_t i = 0; i < message->count; i++) {
        const struct message_field *field = &message->fields[i];
        assert_true(field->number > 0 && field->name && *field->name);
        assert_true((field->kind == MESSAGE_NESTED) == (field->nested != NULL));
        assert_true((field->kind == MESSAGE_ENUM) == (field->values != NULL));
        for (size_t other = 0; other < i; other++) {
            assert_true(message->fields[other].number < field->number);
            assert_string_not_equal(message->fields[other].name, field->name);
        }
        if (field->nested)
            check_table(field->nested, depth + 1);
    }
}

TEST(tables_are_in_order)
{
    static const struct message *const tables[] = {
        &process_message_start,    &process_message_event,
        &process_message_list,     &process_message_update,
        &process_message_selected, &process_message_signal,
        &process_message_input,    &process_message_input_stream,
        &fs_message_path,          &fs_message_move,
        &fs_message_entry,         &fs_message_list,
        &fs_message_listed,        &fs_message_watch,
        &fs_message_watched,       &fs_message_watcher,
        &fs_message_events,        &every_kind};
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        check_table(tables[i], 0);
}
