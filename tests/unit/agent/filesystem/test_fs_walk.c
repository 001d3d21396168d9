/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories that the agent cannot read: root of a sandbox is not root of all of /sys. */
#include "unit/folder.h"

#include <jansson.h>
#include <sys/stat.h>

#include "agent/filesystem/fs_walk.h"

#define NOBODY 65534

static int make_places(void **state)
{
    if (make_folder(state) < 0 || chmod(".", 0755) < 0 || mkdir("top", 0755) < 0 ||
        mkdir("top/shut", 0) < 0 || mkdir("top/wide", 0755) < 0)
        return -1;
    write_file("top/wide/file", "text");
    return geteuid() == 0 ? seteuid(NOBODY) : 0;
}

static int remove_places(void **state)
{
    return getuid() == 0 && seteuid(0) < 0 ? -1 : remove_folder(state);
}

static int list(const char *path, struct buffer *answer, struct rpc_error *error)
{
    const struct fs_walk walk = {.path = path, .depth = 2};
    buffer_init(answer, 1 << 20);
    return fs_walk_list(&walk, answer, error);
}

TEST(each_directory_is_listed_once)
{
    static const char *const names[] = {"shut", "wide", "file"};
    buffer_auto answer = BUFFER_INIT(0);
    struct rpc_error error;
    assert_int_equal(list("top", &answer, &error), 0);
    json_auto_t *json = json_loads(buffer_string(&answer), 0, NULL);
    const json_t *entries = json_object_get(json, "entries");
    assert_int_equal(json_array_size(entries), ARRAY_SIZE(names));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_string_equal(json_string_value(json_object_get(json_array_get(entries, i), "name")),
                            names[i]);
}

TEST(a_directory_that_cannot_be_read_is_not_empty)
{
    buffer_auto answer = BUFFER_INIT(0);
    struct rpc_error error;
    assert_int_equal(list("top/shut", &answer, &error), -1);
    assert_int_equal(error.code, RPC_PERMISSION_DENIED);
}

TEST_GROUP(make_places, remove_places)
