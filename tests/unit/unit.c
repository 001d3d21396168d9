/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main() of the unit tests: run the tests that TEST() has listed, at least one. */
#include "unit/unit.h"

#define TESTS_MAX 64

/* cmocka passes over the places that have no test. */
static struct CMUnitTest tests[TESTS_MAX];
static size_t count;
static const char *group_name;
static CMFixtureFunction group_setup, group_teardown;

void unit_list(const char *file, const struct CMUnitTest *test)
{
    if (count == TESTS_MAX)
        abort();
    group_name = file;
    tests[count++] = *test;
}

void unit_group(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    group_setup = setup;
    group_teardown = teardown;
}

int main(void)
{
    if (!count)
        abort();
    return cmocka_run_group_tests_name(group_name, tests, group_setup, group_teardown);
}
