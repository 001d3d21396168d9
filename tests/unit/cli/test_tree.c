/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Listings of a folder of a sandbox, as the sandbox sends them. */
#include "unit/unit.h"

#include "base/buffer.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "cli/tree.h"

#define ENTRY                                                                      \
    "{\"name\":\"x\",\"type\":\"%s\",\"path\":\"%s\",\"size\":\"7\",\"mode\":420," \
    "\"permissions\":\"%s\",\"modifiedTime\":\"2026-01-02T03:04:05.000000006Z\"}"

static struct tree tree;
static struct buffer answer;

static int begin(void **state)
{
    tree_init(&tree, NULL, NULL, "/nonexistent", "/home/user/project");
    buffer_init(&answer, (size_t)64 << 20);
    return 0;
}

static int end(void **state)
{
    tree_deinit(&tree);
    buffer_deinit(&answer);
    return 0;
}

static void take(json_t *folders)
{
    struct error *err = NULL;
    assert_ok(tree_take_list(&tree, &answer, folders, &err));
}

static const char *text(const char *path)
{
    return json_string_value(json_object_get(tree.entries, path));
}

TEST_WITH(a_listing_has_more_values_than_a_document, begin, end)
{
    buffer_append_string(&answer, "{\"entries\":[");
    for (unsigned i = 0; i < 20000; i++) {
        autofree char *path = xasprintf("/home/user/project/%u", i);
        buffer_printf(&answer, "%s" ENTRY, i ? "," : "", "FILE_TYPE_FILE", path, "-rw-r--r--");
    }
    buffer_append_string(&answer, "]}");
    assert_int_equal(json_size_of(answer.data, answer.size), JSON_TOO_MANY_VALUES);
    take(NULL);
    assert_int_equal(json_object_size(tree.entries), 20000);
    assert_string_equal(text("19999"), "file 644 7 2026-01-02T03:04:05.000000006Z");
}

TEST_WITH(kinds_and_odd_names, begin, end)
{
    json_auto_t *folders = json_array();
    buffer_printf(&answer, "{\"entries\":[" ENTRY "," ENTRY "," ENTRY "," ENTRY "]}",
                  "FILE_TYPE_DIRECTORY", "/home/user/project/a", "drwxr-xr-x", "FILE_TYPE_FILE",
                  "/home/user/project/a/}{\\\"\\\\[", "-rw-r--r--", "FILE_TYPE_DIRECTORY",
                  "/home/user/project/to-a", "Lrwxrwxrwx", "FILE_TYPE_FILE",
                  "/home/user/project-of-another/file", "-rw-r--r--");
    take(folders);
    assert_int_equal(json_object_size(tree.entries), 3);
    assert_string_equal(text("a"), "folder 644");
    assert_string_equal(text("to-a"), "link");
    assert_non_null(text("a/}{\"\\["));
    assert_true(tree_has_folder(&tree, "a"));
    assert_false(tree_has_folder(&tree, "to-a"));
    assert_int_equal(json_array_size(folders), 1);
    assert_string_equal(json_string_value(json_array_get(folders, 0)), "a");
    /* A sandbox that sends the same folder again and again is not asked for ever. */
    take(folders);
    assert_int_equal(json_array_size(folders), 1);
}

TEST_WITH(the_root, begin, end)
{
    tree.there = "/";
    buffer_printf(&answer, "{\"entries\":[" ENTRY "]}", "FILE_TYPE_FILE", "/file", "-rw-r--r--");
    take(NULL);
    assert_non_null(text("file"));
}

TEST_WITH(an_empty_folder, begin, end)
{
    buffer_append_string(&answer, "{}");
    take(NULL);
    buffer_clear(&answer);
    buffer_append_string(&answer, "{\"entries\":[]}");
    take(NULL);
    assert_int_equal(json_object_size(tree.entries), 0);
}

TEST_WITH(a_text_that_is_no_list_is_refused, begin, end)
{
    static const char *const texts[] = {"[{", "[{\"path\":\"}", "[{]}", "{\"entries\":[{\"a\"}]}"};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct error *err = NULL;
        buffer_clear(&answer);
        buffer_append_string(&answer, texts[i]);
        assert_fails_saying(tree_take_list(&tree, &answer, NULL, &err), ERR_INTERNAL, "not JSON");
    }
}
