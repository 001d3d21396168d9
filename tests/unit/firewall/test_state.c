/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <unistd.h>

#include "base/mem.h"
#include "firewall/state.h"
#include "unit/folder.h"

#define MARK "table.missing"

/* The unit that loads the table deletes the file at any time. */
TEST(a_missing_table_has_a_file)
{
    error_auto err = NULL;
    assert_ok(state_mark_table(folder, false, &err));
    for (int i = 0; i < 2; i++)
        assert_ok(state_mark_table(folder, true, &err));
    assert_int_equal(access(MARK, F_OK), 0);
    assert_ok(state_mark_table(folder, false, &err));
    assert_int_not_equal(access(MARK, F_OK), 0);
}

TEST(a_file_that_cannot_be_written_is_an_error)
{
    error_auto err = NULL;
    autofree char *gone = xasprintf("%s/gone", folder);
    assert_fails(state_mark_table(gone, true, &err), ERR_INTERNAL);
}

/* The files of many sandboxes are written over several turns. */
TEST(files_are_saved_while_there_is_time)
{
    const struct settings settings = {.firewall_state_dir = folder};
    struct filter *filter = xcalloc(1, sizeof *filter);
    struct filter_sandbox first = {.address = 0x0a580002, .dirty = true},
                          second = {.address = 0x0a580003, .dirty = true};
    filter->settings = &settings;
    first.wire = (struct policy_wire){.sandbox_id = xstrdup("sbx_1"), .address = first.address};
    second.wire = (struct policy_wire){.sandbox_id = xstrdup("sbx_2"), .address = second.address};
    filter->buckets[first.address % FILTER_BUCKETS] = &first;
    filter->buckets[second.address % FILTER_BUCKETS] = &second;
    assert_false(state_save_dirty(filter, 0));
    assert_true(first.dirty && second.dirty);
    /* A turn begins where the last one ended, also behind the first one. */
    filter->next_saved = second.address % FILTER_BUCKETS;
    assert_true(state_save_dirty(filter, 60000));
    assert_false(first.dirty || second.dirty);
    assert_int_equal(access("10.88.0.2.json", F_OK), 0);
    assert_int_equal(access("10.88.0.3.json", F_OK), 0);
    policy_wire_deinit(&first.wire);
    policy_wire_deinit(&second.wire);
    free(filter);
}

static void take_numbers(void *context, struct policy_wire *wire, const json_t *answers)
{
    struct policy_wire *loaded = context;
    if (wire->address == loaded->address) {
        loaded->tenant = wire->tenant;
        loaded->user = wire->user;
        loaded->bytes = wire->bytes;
    }
    policy_wire_deinit(wire);
}

/* A policy that no request puts again still counts for its tenant after a restart. */
TEST(a_file_has_the_tenant_and_the_size_of_its_policy)
{
    error_auto err = NULL;
    struct policy_wire loaded = {.address = 0x0a580004};
    struct filter_sandbox sandbox = {.address = loaded.address};
    sandbox.wire = (struct policy_wire){.sandbox_id = xstrdup("sbx_3"),
                                        .address = loaded.address,
                                        .revision = 1,
                                        .tenant = 7,
                                        .user = 8,
                                        .bytes = 900};
    assert_ok(state_save(folder, &sandbox, &err));
    assert_ok(state_load(folder, take_numbers, &loaded, &err));
    assert_int_equal(loaded.tenant, 7);
    assert_int_equal(loaded.user, 8);
    assert_int_equal(loaded.bytes, 900);
    policy_wire_deinit(&sandbox.wire);
}

TEST_GROUP(make_folder, remove_folder)
