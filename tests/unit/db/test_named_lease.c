/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/schema.h"

#include "db/named_lease.h"

static int begin(void **state)
{
    server_say(raw, "DELETE FROM leases");
    return 0;
}

static bool take(const char *owner)
{
    error_auto err = NULL;
    bool ours = false;
    assert_ok(named_lease_take(db, "unit", owner, &ours, &err));
    return ours;
}

static bool is_held(void)
{
    error_auto err = NULL;
    bool held = false;
    assert_ok(named_lease_is_held(db, "unit", &held, &err));
    return held;
}

static void release(const char *owner)
{
    error_auto err = NULL;
    assert_ok(named_lease_release(db, "unit", owner, &err));
}

TEST_WITH(the_first_has_it, begin, NULL)
{
    assert_false(is_held());
    assert_true(take("a"));
    assert_false(take("b"));
    assert_true(take("a"));
    assert_true(is_held());
}

TEST_WITH(it_ends_with_its_time, begin, NULL)
{
    assert_true(take("a"));
    server_say(raw, "UPDATE leases SET until_ms = 1");
    assert_false(is_held());
    assert_true(take("b"));
    assert_false(take("a"));
}

TEST_WITH(its_holder_puts_the_end_off, begin, NULL)
{
    assert_true(take("a"));
    server_say(raw, "UPDATE leases SET until_ms = until_ms - 10000");
    long before = server_ask(raw, "SELECT until_ms FROM leases");
    assert_true(take("a"));
    assert_true(server_ask(raw, "SELECT until_ms FROM leases") > before);
}

TEST_WITH(only_its_holder_lets_go_of_it, begin, NULL)
{
    assert_true(take("a"));
    release("b");
    assert_true(is_held());
    release("a");
    assert_false(is_held());
    assert_true(take("b"));
}

static void set_time(const struct db_statement *statement)
{
    error_auto err = NULL;
    assert_ok(db_exec(db, statement, DB_NO_ARGS, NULL, &err));
}

static int end_ahead(void **state)
{
    static const struct db_statement now = {"unit.now", "SET timestamp = DEFAULT"};
    set_time(&now);
    return 0;
}

/* This machine's clock may be wrong, and other machines compare the time. */
TEST_WITH(its_end_is_a_time_of_the_server, begin, end_ahead)
{
    static const struct db_statement ahead = {"unit.ahead",
                                              "SET timestamp = UNIX_TIMESTAMP() + 3600"};
    set_time(&ahead);
    assert_true(take("a"));
    assert_int_equal(server_ask(raw, "SELECT until_ms > (UNIX_TIMESTAMP() + 3000) * 1000"
                                     " FROM leases"),
                     1);
    assert_true(is_held());
    assert_false(take("b"));
}

TEST_GROUP(schema_setup, schema_teardown)
