/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cache of builds is trimmed for the teams that build, without reading that of all teams. */
#include "unit/unit.h"

#include "base/clock.h"
#include "recipe/recipe_cache.h"
#include "unit/schema.h"

#define IDLE      500
#define READS_MAX 200

static const struct recipe_cache_bounds bounds = {.steps = 2, .gb = 100};

static struct team idle, active;

static int set_up(void **state)
{
    struct error *err = NULL;
    struct user user;
    if (schema_setup(state) < 0)
        return -1;
    server_say(raw, "SET SESSION foreign_key_checks = 0, sql_mode = ''");
    return user_create(db, "alice", &user, &err) < 0 ||
           team_create(db, "idle", "pro", "alice", &idle, &err) < 0 ||
           team_create(db, "active", "pro", "alice", &active, &err) < 0;
}

/* Put cached steps, each used a millisecond after the one before. */
static void put(const struct team *team, unsigned count, int64_t used_at_ms)
{
    for (unsigned i = 0; i < count; i++) {
        autofree char *id = xasprintf("ckp_%.4s%u", team->slug, i);
        autofree char *checkpoint =
            xasprintf("INSERT INTO checkpoints (id, team_id, instance_name, state)"
                      " VALUES ('%s', '%s', '%s', 'kept')",
                      id, team->id, id);
        autofree char *step =
            xasprintf("INSERT INTO recipe_cache (team_id, step_key, checkpoint_id, used_at_ms)"
                      " VALUES ('%s', SHA2('%u', 256), '%s', %lld)",
                      team->id, i, id, (long long)used_at_ms + i);
        server_say(raw, checkpoint);
        server_say(raw, step);
    }
}

static long steps_of(const struct team *team)
{
    autofree char *text =
        xasprintf("SELECT COUNT(*) FROM recipe_cache WHERE team_id = '%s'", team->id);
    return server_ask(raw, text);
}

TEST(teams_that_build_are_trimmed_first)
{
    struct error *err = NULL;
    int64_t now_ms = clock_now_ms();
    char after[ID_SIZE] = "~"; /* behind all teams */
    put(&idle, IDLE, 1);
    put(&active, 4, now_ms);
    uint64_t before = schema_reads();
    assert_ok(recipe_cache_trim(db, &bounds, now_ms - 1000, after, &err));
    assert_true(schema_reads() - before < READS_MAX);
    assert_int_equal(steps_of(&active), 2);
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM recipe_cache WHERE checkpoint_id IN"
                                     " ('ckp_acti2', 'ckp_acti3')"),
                     2);
    assert_int_equal(steps_of(&idle), IDLE);
    assert_string_equal(after, "");
}

TEST(other_teams_have_their_turn)
{
    struct error *err = NULL;
    char after[ID_SIZE] = "";
    assert_ok(recipe_cache_trim(db, &bounds, clock_now_ms() + 1000, after, &err));
    assert_int_equal(steps_of(&idle), 2);
    assert_int_equal(steps_of(&active), 2);
}

LIST_TEST(every_statement_can_be_prepared, NULL, NULL)

TEST_GROUP(set_up, schema_teardown)
