/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <signal.h>
#include <sys/wait.h>

#include "http/pool.h"

#define WORKERS 8

/* As many workers as handles: what tells them apart is the open file. */
struct fixture {
    char dir[64];
    struct pool *pools[WORKERS];
};

static const struct pool_claim one = {.team = 1, .sandbox = 10};
static const struct pool_claim other = {.team = 2, .sandbox = 20};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    error_auto err = NULL;
    strcpy(fixture->dir, "/tmp/test_pool.XXXXXX");
    if (!mkdtemp(fixture->dir))
        return -1;
    for (unsigned i = 0; i < WORKERS; i++)
        assert_ok(pool_open_as(fixture->dir, "api", &fixture->pools[i], &err));
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    char path[96];
    for (unsigned i = 0; i < WORKERS; i++)
        pool_close(fixture->pools[i]);
    snprintf(path, sizeof path, "%s/api.pool", fixture->dir);
    unlink(path);
    rmdir(fixture->dir);
    free(fixture);
    return 0;
}

TEST_WITH(test_a_team_has_half, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct pool **pools = fixture->pools;
    for (unsigned i = 0; i < WORKERS / 2; i++)
        assert_true(pool_enter(pools[i], &one));
    assert_false(pool_has_room(pools[4], &one));
    assert_false(pool_enter(pools[4], &one));
    for (unsigned i = WORKERS / 2; i < WORKERS; i++)
        assert_true(pool_enter(pools[i], &other));
    pool_leave(pools[0]);
    assert_true(pool_has_room(pools[0], &one));
    assert_false(pool_enter(pools[0], &other));
    assert_true(pool_enter(pools[0], &one));
}

TEST_WITH(test_a_user_has_half_in_all_teams, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct pool **pools = fixture->pools;
    const struct pool_claim unknown = {.user = 7}, another_user = {.team = 1, .user = 8};
    for (unsigned i = 0; i < WORKERS / 2; i++)
        assert_true(pool_enter(pools[i], &(struct pool_claim){.team = 1 + i, .user = 7}));
    assert_false(pool_enter(pools[4], &(struct pool_claim){.team = 9, .user = 7}));
    assert_false(pool_enter(pools[4], &unknown));
    assert_true(pool_enter(pools[4], &another_user));
    pool_leave(pools[0]);
    /* One whose team is known later counts for the user already. */
    assert_true(pool_enter(pools[0], &unknown));
    assert_false(pool_enter(pools[5], &unknown));
    assert_true(pool_enter(pools[0], &(struct pool_claim){.team = 9, .user = 7}));
}

TEST_WITH(test_a_narrow_claim_leaves_half_of_its_share, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct pool **pools = fixture->pools;
    const struct pool_claim narrow = {.team = 1, .user = 7, .is_narrow = true};
    const struct pool_claim elsewhere = {.team = 1, .user = 8, .is_narrow = true};
    for (unsigned i = 0; i < WORKERS / 4; i++)
        assert_true(pool_enter(pools[i], &narrow));
    assert_false(pool_enter(pools[2], &narrow));
    assert_true(pool_enter(pools[2], &elsewhere));
}

TEST_WITH(test_claims_that_wait_leave_half, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct pool **pools = fixture->pools;
    const struct pool_claim waits[] = {{.team = 1, .waits = true},
                                       {.team = 2, .waits = true},
                                       {.team = 3, .waits = true},
                                       {.team = 4, .waits = true}};
    for (unsigned i = 0; i < WORKERS / 4; i++)
        assert_true(pool_enter(pools[i], &waits[0]));
    assert_false(pool_enter(pools[2], &waits[0]));
    assert_true(pool_enter(pools[2], &waits[1]));
    assert_false(pool_enter(pools[3], &waits[1]));
    assert_true(pool_enter(pools[3], &waits[2]));
    assert_false(pool_enter(pools[4], &waits[3]));
    assert_true(pool_enter(pools[4], &one));
    pool_leave(pools[0]);
    assert_false(pool_enter(pools[0], &waits[1]));
    assert_true(pool_enter(pools[0], &waits[3]));
}

TEST_WITH(test_what_nobody_else_wants_is_lent, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct pool **pools = fixture->pools;
    const struct pool_claim borrower = {.team = 1, .borrows = true};
    for (unsigned i = 0; i < WORKERS / 2; i++)
        assert_true(pool_enter(pools[i], &borrower));
    assert_false(pool_enter(pools[4], &borrower));
    pool_lend(pools[4], true);
    assert_false(pool_enter(pools[4], &one));
    assert_true(pool_enter(pools[4], &borrower));
    pool_lend(pools[4], false);
    assert_false(pool_enter(pools[5], &borrower));
    for (unsigned i = 5; i < WORKERS; i++)
        assert_true(pool_enter(pools[i], &other));
}

/* As many starts as half of the processors, at least two, and never more than half of the pool. */
static unsigned starts_beside_others(void)
{
    long half = sysconf(_SC_NPROCESSORS_ONLN) / 2;
    return half < 2 ? 2 : half < WORKERS / 2 ? (unsigned)half : WORKERS / 2;
}

TEST_WITH(test_beside_others_a_tenant_starts_few, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct pool **pools = fixture->pools;
    const struct pool_claim start = {.team = 1, .user = 7, .starts = true};
    const struct pool_claim neighbour = {.team = 2, .user = 8, .starts = true};
    const struct pool_claim in_other_team = {.team = 3, .user = 7, .starts = true};
    const struct pool_claim by_other_user = {.team = 1, .user = 9, .starts = true};
    unsigned most = starts_beside_others();
    for (unsigned i = 0; i < WORKERS / 2; i++)
        assert_true(pool_enter(pools[i], &start));
    assert_false(pool_is_beside_others(pools[0]));
    assert_false(pool_repeats(pools[0]));
    for (unsigned i = 0; i < WORKERS / 2; i++)
        pool_leave(pools[i]);
    assert_true(pool_enter(pools[WORKERS - 1], &neighbour));
    assert_true(pool_is_beside_others(pools[0]));
    assert_false(pool_repeats(pools[WORKERS - 1]));
    for (unsigned i = 0; i < most; i++) {
        assert_true(pool_enter(pools[i], &start));
        assert_int_equal(pool_repeats(pools[i]), i > 0);
    }
    assert_false(pool_enter(pools[most], &start));
    assert_false(pool_enter(pools[most], &in_other_team));
    assert_false(pool_enter(pools[most], &by_other_user));
    assert_true(pool_enter(pools[most], &neighbour));
    assert_int_equal(pool_enter(pools[most + 1], &one), most < WORKERS / 2);
}

/* While a request waits for a copy, another one of the tenant starts. Then it waits for its turn.
 */
TEST_WITH(test_a_start_that_waits_does_not_count, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct pool **pools = fixture->pools;
    const struct pool_claim start = {.team = 1, .user = 7, .starts = true};
    const struct pool_claim neighbour = {.team = 2, .user = 8, .starts = true};
    const struct pool_claim labors_not = {.team = 3, .user = 9};
    unsigned most = starts_beside_others();
    if (most == WORKERS / 2)
        skip(); /* the half of the pool is the narrower bound */
    for (unsigned i = 0; i < most; i++)
        assert_true(pool_enter(pools[i], &start));
    assert_true(pool_enter(pools[WORKERS - 1], &neighbour));
    assert_false(pool_enter(pools[most], &start));
    assert_true(pool_resume_start(pools[0])); /* it counts already */
    pool_suspend_start(pools[0]);
    assert_true(pool_enter(pools[most], &start));
    assert_false(pool_resume_start(pools[0]));
    assert_false(pool_resume_start(pools[0]));
    pool_leave(pools[most]);
    assert_true(pool_resume_start(pools[0]));
    assert_false(pool_enter(pools[most], &start));
    /* A request that is no start does not become one. */
    assert_true(pool_enter(pools[most], &labors_not));
    assert_true(pool_resume_start(pools[most]));
    assert_false(pool_repeats(pools[most]));
    pool_leave(pools[0]);
    assert_true(pool_resume_start(pools[0]));
    assert_true(pool_enter(pools[0], &start));
    pool_suspend_start(NULL);
    assert_true(pool_resume_start(NULL));
}

TEST_WITH(test_a_sandbox_has_one, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct pool_claim alone = {.team = 1, .sandbox = 10, .alone = true};
    struct pool_claim neighbour = {.team = 1, .sandbox = 11, .alone = true};
    assert_true(pool_enter(fixture->pools[0], &alone));
    assert_false(pool_enter(fixture->pools[1], &alone));
    assert_true(pool_enter(fixture->pools[1], &neighbour));
    pool_leave(fixture->pools[0]);
    assert_true(pool_enter(fixture->pools[2], &alone));
}

TEST_WITH(test_nobody_is_not_bounded, set_up, tear_down)
{
    struct fixture *fixture = *state;
    const struct pool_claim nobody = {0};
    for (unsigned i = 0; i < WORKERS; i++)
        assert_true(pool_enter(fixture->pools[i], &nobody));
}

/* A child takes a place in the pool and is killed in the middle of a request. */
TEST_WITH(test_a_killed_worker_counts_no_more, set_up, tear_down)
{
    struct fixture *fixture = *state;
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (!child) {
        struct pool *pool;
        struct error *err = NULL;
        bool entered =
            pool_open_as(fixture->dir, "api", &pool, &err) == 0 && pool_enter(pool, &one);
        if (!entered || write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    for (unsigned i = 0; i < WORKERS / 2 - 1; i++)
        assert_true(pool_enter(fixture->pools[i], &one));
    assert_false(pool_enter(fixture->pools[4], &one));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    while (!pool_enter(fixture->pools[4], &one))
        usleep(1000);
    assert_false(pool_enter(fixture->pools[5], &one));
}

/* What the dead left is taken over, so that half of the pool stays what it is. */
TEST_WITH(test_places_are_taken_again, set_up, tear_down)
{
    struct fixture *fixture = *state;
    error_auto err = NULL;
    for (unsigned round = 0; round < 20; round++) {
        pool_close(fixture->pools[3]);
        assert_ok(pool_open_as(fixture->dir, "api", &fixture->pools[3], &err));
    }
    test_a_team_has_half(state);
}

TEST(test_no_folder)
{
    struct pool *pool;
    error_auto err = NULL;
    assert_fails(pool_open_as("/nowhere", "api", &pool, &err), ERR_CONFIG);
}
