/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/ulid.h"

TEST(has_its_form)
{
    char id[ID_SIZE];
    assert_ptr_equal(id_new("sbx_", id), id);
    assert_int_equal(strlen(id), 4 + ULID_LENGTH);
    assert_true(id_is_valid("sbx_", id));
    assert_false(id_is_valid("op__", id));
    assert_int_equal(id[4], ID_CELL);
}

TEST(sorts_by_creation)
{
    char last[ID_SIZE] = "", next[ID_SIZE];
    for (int i = 0; i < 20; i++) {
        id_new("sbx_", next);
        assert_true(strcmp(last, next) < 0);
        memcpy(last, next, sizeof last);
        clock_sleep_ms(2);
    }
}

TEST(has_a_floor)
{
    char before[ID_SIZE], floor[ID_SIZE], after[ID_SIZE];
    id_new("sbx_", before);
    clock_sleep_ms(2);
    id_floor("sbx_", clock_now_ms(), floor);
    id_new("sbx_", after);
    assert_true(id_is_valid("sbx_", floor));
    assert_true(strcmp(before, floor) < 0);
    assert_true(strcmp(floor, after) < 0);
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

TEST(never_repeats)
{
    enum { COUNT = 10000 };
    char(*ids)[ID_SIZE] = xcalloc(COUNT, ID_SIZE);
    for (int i = 0; i < COUNT; i++)
        id_new("sbx_", ids[i]);
    qsort(ids, COUNT, ID_SIZE, compare);
    for (int i = 1; i < COUNT; i++)
        assert_string_not_equal(ids[i - 1], ids[i]);
    free(ids);
}

TEST(refuses_what_is_none)
{
    static const char *const refused[] = {
        "",
        "sbx_",
        "sbx",
        "sbx_01arz3ndektsv4rrffq69g5fa",
        "sbx_01arz3ndektsv4rrffq69g5favx",
        "SBX_01arz3ndektsv4rrffq69g5fav",
        "sbx_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "sbx_01arz3ndektsv4rrffq69g5fai",
        "sbx_01arz3ndektsv4rrffq69g5fal",
        "sbx_01arz3ndektsv4rrffq69g5fao",
        "sbx_01arz3ndektsv4rrffq69g5fau",
        "sbx_01arz3ndektsv4rrffq69g5fa%",
        "sbx_01arz3ndektsv4rrffq69g5fa\n",
        "sbx_11arz3ndektsv4rrffq69g5fav", /* of another cell */
        "sbx_a1arz3ndektsv4rrffq69g5fav",
    };
    assert_true(id_is_valid("sbx_", "sbx_01arz3ndektsv4rrffq69g5fav"));
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
        if (id_is_valid("sbx_", refused[i]))
            fail_msg("\"%s\" was taken for an id", refused[i]);
}

TEST(makes_route_tokens)
{
    char token[ROUTE_TOKEN_LENGTH + 1], other[ROUTE_TOKEN_LENGTH + 1];
    route_token_new(token);
    assert_true(route_token_is_valid(token));
    assert_string_not_equal(token, route_token_new(other));
    assert_false(route_token_is_valid(""));
    assert_false(route_token_is_valid("abcdefghijklmnopqrstuvwxy"));
    assert_false(route_token_is_valid("abcdefghijklmnopqrstuvwxyzz"));
    assert_false(route_token_is_valid("abcdefghijklmnopqrstuvwxy1"));
    assert_false(route_token_is_valid("Abcdefghijklmnopqrstuvwxyz"));
    assert_false(route_token_is_valid("abcdefghijklm.opqrstuvwxyz"));
}

TEST(is_written_as_a_uuid)
{
    char uuid[UUID_SIZE], id[ID_SIZE], made[ID_SIZE];
    assert_string_equal(id_to_uuid("tpv_01arz3ndektsv4rrffq69g5fav", uuid),
                        "01563e3a-b5d3-d676-4c61-efb99302bd5b");
    assert_int_equal(id_of_uuid("tpv_", uuid, id), 0);
    assert_string_equal(id, "tpv_01arz3ndektsv4rrffq69g5fav");
    assert_int_equal(id_of_uuid("tpv_", "01563E3A-B5D3-D676-4C61-EFB99302BD5B", id), 0);
    assert_string_equal(id, "tpv_01arz3ndektsv4rrffq69g5fav");
    for (int i = 0; i < 100; i++) {
        id_new("tpv_", made);
        assert_int_equal(id_of_uuid("tpv_", id_to_uuid(made, uuid), id), 0);
        assert_string_equal(id, made);
    }
}

TEST(refuses_other_uuids)
{
    static const char *const refused[] = {
        "",
        "01563e3a",
        "01563e3ab5d3d6764c61efb99302bd5b",
        "01563e3a-b5d3-d676-4c61-efb99302bd5",
        "01563e3a-b5d3-d676-4c61-efb99302bd5b0",
        "01563e3a-b5d3-d676-4c61-efb99302bd5g",
        "01563e3a-b5d3-d6764-c61-efb99302bd5b",
        "f1563e3a-b5d3-d676-4c61-efb99302bd5b", /* of another cell */
        "tpv_01arz3ndektsv4rrffq69g5fav",
    };
    char id[ID_SIZE];
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
        if (id_of_uuid("tpv_", refused[i], id) == 0)
            fail_msg("\"%s\" was read as a UUID", refused[i]);
}
