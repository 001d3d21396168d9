/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that a sandbox takes, taken by one statement: of each row, or of none. */
#include "unit/unit.h"

#include "sandbox/reservation.h"
#include "unit/fleet.h"
#include "unit/schema.h"

static struct team team;
static struct template_version version;
static struct host host = {UNIT_HOST,    .name = "one",       .address_range = "10.1.0.0/24",
                           .vcpus = 100, .memory_mb = 100000, .disk_overcommit = 2};

static int set_up(void **state)
{
    struct error *err = NULL;
    struct user user;
    if (schema_setup(state) < 0)
        return -1;
    return user_create(db, "alice", &user, &err) < 0 ||
           team_create(db, "acme", "pro", "alice", &team, &err) < 0 ||
           unit_template(db, &version, &err) < 0 || host_put(db, &host, &err) < 0 ||
           host_pool_put(db, host.id, 100000, 1000, &err) < 0;
}

/* Room that others have taken meanwhile is what there is of it here. */
static const char *const before =
    "UPDATE teams t JOIN plans p ON p.name = t.plan, hosts h, host_pools o, template_versions v"
    " SET t.used_sandboxes = p.sandboxes - 1, t.used_vcpus = CAST(p.vcpus AS SIGNED) - 2,"
    " t.used_memory_mb = CAST(p.memory_mb AS SIGNED) - 1024, t.stopped_sandboxes = 0,"
    " t.removed_at_ms = NULL,"
    " h.sandboxes = 0, h.used_vcpus = 98, h.used_memory_mb = 98976, h.state = 'active',"
    " h.memory_low = 0, h.relay_url = NULL, h.silent_since_ms = NULL,"
    " o.total_mb = 100000, o.used_mb = 94000, o.promised_gb = 185, v.state = 'ready'"
    " WHERE t.slug = 'acme'";

static int take_body(struct db *with, void *context, struct error **err)
{
    struct sandbox sandbox = {.host_id = host.id, .resources = {2, 1024, 10}};
    memcpy(sandbox.team_id, team.id, ID_SIZE);
    memcpy(sandbox.template_version_id, version.id, ID_SIZE);
    return reservation_take_all(with, &sandbox, context, err);
}

static bool take(void)
{
    struct error *err = NULL;
    bool taken;
    assert_ok(db_transaction(db, take_body, &taken, &err));
    return taken;
}

#define SUM                                                                                       \
    "SELECT (SELECT used_sandboxes + used_vcpus + used_memory_mb FROM teams WHERE slug = 'acme')" \
    " + (SELECT sandboxes + used_vcpus + used_memory_mb FROM hosts)"                              \
    " + (SELECT promised_gb FROM host_pools)"

TEST(all_of_it_is_taken)
{
    server_say(raw, before);
    long sum = server_ask(raw, SUM);
    assert_true(take());
    assert_int_equal(server_ask(raw, SUM) - sum, 2 * (1 + 2 + 1024) + 10);
    assert_int_equal(server_ask(raw, "SELECT promised_gb FROM host_pools"), 195);
    assert_int_equal(server_ask(raw, "SELECT used_vcpus FROM hosts"), 100);
    assert_int_equal(server_ask(raw, "SELECT p.memory_mb - t.used_memory_mb FROM teams t JOIN plans"
                                     " p ON p.name = t.plan WHERE t.slug = 'acme'"),
                     0);
}

TEST(what_one_refuses_none_gives)
{
    static const char *const refusals[] = {
        "UPDATE teams SET used_sandboxes = used_sandboxes + 1 WHERE slug = 'acme'",
        "UPDATE teams SET used_vcpus = used_vcpus + 1 WHERE slug = 'acme'",
        "UPDATE teams SET used_memory_mb = used_memory_mb + 1 WHERE slug = 'acme'",
        "UPDATE teams SET removed_at_ms = 1 WHERE slug = 'acme'",
        "UPDATE teams t JOIN plans p ON p.name = t.plan"
        " SET t.stopped_sandboxes = p.stopped_sandboxes + 1 WHERE t.slug = 'acme'",
        "UPDATE hosts SET used_vcpus = used_vcpus + 1",
        "UPDATE hosts SET used_memory_mb = used_memory_mb + 1",
        "UPDATE hosts SET state = 'draining'",
        "UPDATE hosts SET memory_low = 1",
        "UPDATE hosts SET relay_url = 'https://10.0.0.1', silent_since_ms = 1",
        "UPDATE host_pools SET used_mb = used_mb + 1",
        "UPDATE host_pools SET promised_gb = promised_gb + 1",
        "UPDATE template_versions SET state = 'deleting'",
    };
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        server_say(raw, before);
        server_say(raw, refusals[i]);
        long sum = server_ask(raw, SUM);
        if (take())
            fail_msg("taken in spite of: %s", refusals[i]);
        assert_int_equal(server_ask(raw, SUM), sum);
    }
}

static int take_quota_body(struct db *with, void *context, struct error **err)
{
    struct sandbox sandbox = {.resources = {2, 1024, 10}};
    (void)context;
    memcpy(sandbox.team_id, team.id, ID_SIZE);
    return reservation_take_quota(with, &sandbox, err);
}

/* After the removal of a team, a create that was allowed before must not insert a sandbox. */
TEST(a_removed_team_is_missing)
{
    error_auto err = NULL;
    server_say(raw, before);
    assert_ok(db_transaction(db, take_quota_body, NULL, &err));
    server_say(raw, before);
    server_say(raw, "UPDATE teams SET removed_at_ms = 1 WHERE slug = 'acme'");
    long sum = server_ask(raw, SUM);
    assert_int_equal(db_transaction(db, take_quota_body, NULL, &err), -1);
    assert_int_equal(err->code, ERR_NOT_FOUND);
    assert_int_equal(server_ask(raw, SUM), sum);
}

static int follow_body(struct db *with, void *context, struct error **err)
{
    return reservation_follow(with, context, err);
}

static long paused(void)
{
    return server_ask(raw, "SELECT stopped_sandboxes FROM teams WHERE slug = 'acme'");
}

/* It resumes by itself, so it takes no paused sandbox's place in the plan. */
TEST(a_sandbox_that_is_paused_only_to_move_does_not_count_as_paused)
{
    struct error *err = NULL;
    struct sandbox sandbox = {.state = SANDBOX_STOPPED,
                              .reserved = RESERVES_ALL,
                              .counted = {.by_team = true, .by_host = true},
                              .host_id = host.id,
                              .resources = {2, 1024, 10}};
    memcpy(sandbox.team_id, team.id, ID_SIZE);
    server_say(raw, before);
    long sum = server_ask(raw, SUM);
    assert_ok(db_transaction(db, follow_body, &sandbox, &err));
    assert_int_equal(paused(), 0);
    assert_int_equal(server_ask(raw, SUM), sum);
    /* The move has failed, and it stays paused. */
    sandbox.reserved = RESERVES_NOTHING;
    assert_ok(db_transaction(db, follow_body, &sandbox, &err));
    assert_int_equal(paused(), 1);
}

TEST_GROUP(set_up, schema_teardown)
