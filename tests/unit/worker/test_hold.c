/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A copy of an object that a process stops or deletes on a host is used by no other process. */
#include "unit/unit.h"

#include "unit/schema.h"
#include "worker/hold.h"

static struct worker worker = {.lease_owner = "a test"};

static int set_up(void **state)
{
    if (schema_setup(state) < 0)
        return -1;
    worker.db = db;
    return 0;
}

static int end_all(void **state)
{
    (void)state;
    server_say(raw, "DELETE FROM leases");
    return 0;
}

static void assert_held(uint32_t host_id, const char *id)
{
    struct error *err = NULL;
    assert_fails_saying(hold_check(db, host_id, id, &err), ERR_SANDBOX_BUSY, "try again");
}

static long rows(void)
{
    return server_ask(raw, "SELECT COUNT(*) FROM leases WHERE name LIKE 'copy/%'");
}

TEST_WITH(a_copy_is_held_until_its_end, NULL, end_all)
{
    struct error *err = NULL;
    assert_ok(hold_check(db, 1, "sbx_1", &err));
    assert_ok(hold_take(&worker, 1, "sbx_1", 1000, &err));
    assert_held(1, "sbx_1");
    assert_fails_saying(hold_take(&worker, 1, "sbx_1", 1000, &err), ERR_SANDBOX_BUSY, "try again");
    /* The copy on another host, and other objects, are free. */
    assert_ok(hold_check(db, 2, "sbx_1", &err));
    assert_ok(hold_check(db, 1, "sbx_2", &err));
    hold_end(&worker, 1, "sbx_1", NULL);
    assert_ok(hold_check(db, 1, "sbx_1", &err));
    assert_int_equal(rows(), 0);
}

TEST_WITH(a_host_that_may_be_at_work_keeps_its_copy_held, NULL, end_all)
{
    struct error *err = NULL, *failure = NULL;
    assert_ok(hold_take(&worker, 1, "sbx_1", 1000, &err));
    error_set(&failure, ERR_RUNTIME_UNAVAILABLE, "it does not answer");
    hold_end(&worker, 1, "sbx_1", failure);
    error_clear(&failure);
    assert_held(1, "sbx_1");
    /* Its time ends it. The next hold deletes the row. */
    server_say(raw, "UPDATE leases SET until_ms = 1");
    assert_ok(hold_check(db, 1, "sbx_1", &err));
    assert_ok(hold_take(&worker, 1, "sbx_2", 1000, &err));
    assert_int_equal(rows(), 1);
    error_set(&failure, ERR_RUNTIME_REFUSED, "it refuses");
    hold_end(&worker, 1, "sbx_2", failure);
    error_clear(&failure);
    assert_int_equal(rows(), 0);
}

LIST_TEST(every_statement_can_be_prepared, NULL, NULL)

TEST_GROUP(set_up, schema_teardown)
