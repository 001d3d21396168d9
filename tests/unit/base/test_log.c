/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <jansson.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"

static char path[] = "/tmp/sandlot-test-log-XXXXXX";

/* What stands in the log file since the last call. */
static const char *taken(void)
{
    static char text[65536];
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    fclose(file);
    assert_int_equal(truncate(path, 0), 0);
    return text;
}

static json_t *taken_json(void)
{
    const char *line = taken();
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    json_t *event = json_loads(line, 0, NULL);
    if (!event)
        fail_msg("not JSON: %s", line);
    return event;
}

static const char *member(json_t *event, const char *key)
{
    return json_string_value(json_object_get(event, key));
}

static int log_here(void **state)
{
    int fd = mkstemp(path);
    if (fd < 0)
        return -1;
    close(fd);
    log_init("unit");
    return log_to_file(path);
}

static int remove_log(void **state)
{
    return unlink(path);
}

TEST(a_name_is_escaped_and_an_object_without_one_has_no_such_field)
{
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    log_info("paused", LOG_STR("sandbox", "sbx_1"), LOG_NAME("sandbox_name", "my work\n"),
             LOG_INT("n", 1));
    assert_non_null(strstr(taken(), " sandbox=sbx_1 sandbox_name=\"my work\\u000a\" n=1\n"));
    log_info("paused", LOG_STR("sandbox", "sbx_1"), LOG_NAME("sandbox_name", ""), LOG_INT("n", 1));
    assert_non_null(strstr(taken(), "] paused sandbox=sbx_1 n=1\n"));
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_JSON);
    log_info("paused", LOG_NAME("sandbox_name", ""), LOG_NAME("sandbox_name", "work"));
    json_auto_t *event = taken_json();
    assert_string_equal(member(event, "sandbox_name"), "work");
}

TEST(writes_one_text_line)
{
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    log_info("sandbox created", LOG_STR("sandbox", "sbx_1"), LOG_INT("duration_ms", -42));
    const char *line = taken();
    assert_non_null(strstr(line, " info unit["));
    assert_non_null(strstr(line, "] sandbox created sandbox=sbx_1 duration_ms=-42\n"));
}

TEST(escapes_what_would_forge_lines)
{
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    log_info("x", LOG_STR("name", "a b"), LOG_STR("evil", "1\n2026 error \"\\\x1b[31m\x7f"),
             LOG_STR("empty", NULL), LOG_STR("equals", "a=b"), LOG_STR("latin", "\xc3\xa9"));
    const char *line = taken();
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    assert_null(strchr(line, '\x1b'));
    assert_null(strchr(line, '\x7f'));
    assert_non_null(strstr(line, " name=\"a b\""));
    assert_non_null(strstr(line, " evil=\"1\\u000a2026 error \\\"\\\\\\u001b[31m\\u007f\""));
    assert_non_null(strstr(line, " empty=\"\""));
    assert_non_null(strstr(line, " equals=\"a=b\""));
}

TEST(writes_json)
{
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_JSON);
    log_warning("odd \"thing\"", LOG_STR("path", "/a\\b\n\t\x01"), LOG_INT("size", 7),
                LOG_STR("broken", "\xff\xfe"));
    json_t *event = taken_json();
    assert_string_equal(member(event, "message"), "odd \"thing\"");
    assert_string_equal(member(event, "level"), "warning");
    assert_string_equal(member(event, "program"), "unit");
    assert_string_equal(member(event, "path"), "/a\\b\n\t\x01");
    assert_int_equal(json_integer_value(json_object_get(event, "size")), 7);
    assert_non_null(member(event, "broken"));
    json_decref(event);
}

TEST(cuts_what_is_endless)
{
    static char endless[40000];
    memset(endless, 'a', sizeof endless - 1);
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_JSON);
    log_info("x", LOG_STR("before", "1"), LOG_STR("reason", endless), LOG_STR("after", "2"));
    json_t *event = taken_json();
    assert_string_equal(member(event, "before"), "1");
    assert_in_range(strlen(member(event, "reason")), 1000, 16384);
    json_decref(event);

    memset(endless, '\n', sizeof endless - 1);
    log_info("x", LOG_STR("reason", endless));
    json_decref(taken_json());

    memset(endless, 'a', sizeof endless - 1);
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    log_info("x", LOG_STR("reason", endless));
    const char *line = taken();
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    assert_non_null(strstr(line, "reason="));
}

TEST(many_fields_stay_one_json_line)
{
    static char long_value[1500];
    memset(long_value, '"', sizeof long_value - 1);
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_JSON);
    log_info("x", LOG_STR("a", long_value), LOG_STR("b", long_value), LOG_STR("c", long_value),
             LOG_STR("d", long_value), LOG_STR("e", long_value), LOG_STR("f", long_value),
             LOG_STR("g", long_value), LOG_STR("h", long_value), LOG_INT("i", 1));
    json_decref(taken_json());
}

TEST(holds_its_level)
{
    log_configure(LOG_LEVEL_WARNING, LOG_FORMAT_TEXT);
    log_debug("a");
    log_info("b");
    assert_string_equal(taken(), "");
    log_error("c");
    assert_non_null(strstr(taken(), " error unit["));
}

TEST(carries_its_context)
{
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    log_context_set("request", "req_1");
    log_context_set("operation", "op 2");
    log_info("x");
    assert_non_null(strstr(taken(), "] x request=req_1 operation=\"op 2\"\n"));
    log_context_set("request", "req_3");
    log_context_set("operation", NULL);
    log_info("x");
    assert_non_null(strstr(taken(), "] x request=req_3\n"));
    log_context_clear();
    log_info("x");
    assert_non_null(strstr(taken(), "] x\n"));
}

TEST(names_errors)
{
    error_auto err = NULL;
    error_set(&err, ERR_DB_UNAVAILABLE, "no\nserver");
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    log_info("x", LOG_ERROR(err));
    assert_non_null(strstr(taken(), " error=ERR_DB_UNAVAILABLE reason=\"no\\u000aserver\"\n"));
}

TEST(opens_its_file_again)
{
    autofree char *rotated = NULL;
    assert_true(asprintf(&rotated, "%s.1", path) > 0);
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    assert_int_equal(rename(path, rotated), 0);
    log_info("to the old one");
    assert_int_equal(log_reopen(), 0);
    log_info("to the new one");
    assert_non_null(strstr(taken(), "to the new one"));
    struct stat info;
    assert_int_equal(stat(rotated, &info), 0);
    assert_true(info.st_size > 0);
    unlink(rotated);
}

TEST_GROUP(log_here, remove_log)
