/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clean-up finds the rows of a plan without reading those of other plans, and takes few of one
 * team at once. */
#include "unit/unit.h"

#include "dispatcher/cleanup_row.h"
#include "unit/schema.h"
#include "worker/sweep_failure.h"

#define MANY      500
#define READS_MAX 100

static struct team kept, old;

static int set_up(void **state)
{
    struct error *err = NULL;
    struct user user;
    if (schema_setup(state) < 0)
        return -1;
    server_say(raw, "SET SESSION foreign_key_checks = 0, sql_mode = ''");
    return user_create(db, "alice", &user, &err) < 0 ||
           team_create(db, "kept", "enterprise", "alice", &kept, &err) < 0 ||
           team_create(db, "old", "basic", "alice", &old, &err) < 0;
}

static void put(const struct team *team, const char *id)
{
    autofree char *sandbox =
        xasprintf("INSERT INTO sandboxes (id, team_id, route, instance_name, state, stopped_at_ms)"
                  " VALUES ('%s', '%s', '%s', '%s', 'stopped', 1)",
                  id, team->id, id, id);
    autofree char *checkpoint =
        xasprintf("INSERT INTO checkpoints (id, team_id, instance_name, state, created_at_ms)"
                  " VALUES ('%s', '%s', '%s', 'ready', 1)",
                  id, team->id, id);
    server_say(raw, sandbox);
    server_say(raw, checkpoint);
}

static void put_many(const struct team *team)
{
    for (unsigned i = 0; i < MANY; i++) {
        autofree char *id = xasprintf("x_m%u", i);
        put(team, id);
    }
}

typedef int list_function(struct db *db, const char *plan, int64_t before_ms,
                          struct cleanup_candidate **candidates, size_t *count, struct error **err);

static void assert_one_costs_little(list_function *list)
{
    struct error *err = NULL;
    autofree struct cleanup_candidate *found = NULL;
    size_t count;
    uint64_t before = schema_reads();
    assert_ok(list(db, "basic", 1000, &found, &count, &err));
    assert_true(schema_reads() - before < READS_MAX);
    assert_int_equal(count, 1);
    assert_string_equal(found[0].id, "x_old");
}

TEST(old_ones_of_other_plans_cost_nothing)
{
    put_many(&kept);
    put(&old, "x_old");
    assert_one_costs_little(cleanup_row_old);
    assert_one_costs_little(cleanup_row_old_checkpoints);
}

TEST(a_team_over_its_limit_leaves_time_to_others)
{
    struct error *err = NULL;
    autofree struct cleanup_candidate *found = NULL;
    size_t count;
    server_say(raw, "UPDATE plans SET stopped_sandboxes = 0");
    server_say(raw, "UPDATE teams SET stopped_sandboxes = 500 WHERE slug = 'kept'");
    server_say(raw, "UPDATE teams SET stopped_sandboxes = 1 WHERE slug = 'old'");
    assert_ok(cleanup_row_excess(db, &found, &count, &err));
    assert_int_equal(count, CLEANUP_OF_TEAM + 1);
}

static unsigned reviewed;

static int review_one(struct worker *worker, const char *id, struct error **err)
{
    (void)worker;
    reviewed++;
    return *id == 'f' ? error_set(err, ERR_RUNTIME_REFUSED, "it failed") : 0;
}

TEST(candidates_that_fail_do_not_hide_others)
{
    struct error *err = NULL;
    struct cleanup_candidate all[SWEEP_FAILURES_MAX + 1];
    for (unsigned i = 0; i < SWEEP_FAILURES_MAX; i++)
        snprintf(all[i].id, sizeof all[i].id, "fails-%u", i);
    snprintf(all[SWEEP_FAILURES_MAX].id, sizeof all->id, "works");
    assert_ok(cleanup_review_all(NULL, all, ARRAY_SIZE(all), review_one, &err));
    assert_int_equal(reviewed, SWEEP_FAILURES_MAX);
    assert_ok(cleanup_review_all(NULL, all, ARRAY_SIZE(all), review_one, &err));
    assert_int_equal(reviewed, SWEEP_FAILURES_MAX + 1);
}

LIST_TEST(every_statement_can_be_prepared, NULL, NULL)

TEST_GROUP(set_up, schema_teardown)
