/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "unit/schema.h"

LIST_TEST(every_statement_can_be_prepared, NULL, NULL)

TEST_GROUP(schema_setup, schema_teardown)
