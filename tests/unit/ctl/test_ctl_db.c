/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "unit/schema.h"

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_statement_can_be_prepared),
    };
    return cmocka_run_group_tests_name(__FILE__, tests, schema_setup, schema_teardown);
}
