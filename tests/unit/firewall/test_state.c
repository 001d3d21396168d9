/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <unistd.h>

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

TEST_GROUP(make_folder, remove_folder)
