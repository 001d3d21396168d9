/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "unit/schema.h"

static void every_statement_can_be_prepared(void **state)
{
    error_auto err = NULL;
    assert_ok(db_check_statements(db, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_statement_can_be_prepared),
    };
    return cmocka_run_group_tests_name(__FILE__, tests, schema_setup, schema_teardown);
}
