/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Warm instances that do not start keep the process that makes them for others only for a moment.
 */
#include "unit/unit.h"

#include "template/warm_rest.h"

#define MINUTE 60000

static struct warm_want want(const char *owner, const char *version)
{
    struct warm_want want = {.wanted = 1};
    snprintf(want.owner, sizeof want.owner, "%s", owner);
    snprintf(want.template_version_id, sizeof want.template_version_id, "%s", version);
    return want;
}

TEST(a_version_that_failed_rests_and_its_team_for_a_while)
{
    struct warm_want bad = want("tea_1", "tpv_1"), good = want("tea_1", "tpv_2"),
                     other = want("tea_2", "tpv_3"), ours = want("", "tpv_4");
    assert_false(warm_rests(&bad, MINUTE));
    warm_rest_note(&bad, 15000, MINUTE);
    assert_true(warm_rests(&bad, 2 * MINUTE));
    assert_true(warm_rests(&good, 2 * MINUTE));
    assert_false(warm_rests(&other, 2 * MINUTE));
    assert_false(warm_rests(&ours, 2 * MINUTE));
    assert_true(warm_rests(&bad, 10 * MINUTE));
    assert_false(warm_rests(&good, 4 * MINUTE));
    assert_false(warm_rests(&bad, 11 * MINUTE));
}

/* However many versions a team has, its failed starts take a small part of the time. */
TEST(many_versions_of_a_team_take_a_part_of_the_time)
{
    int64_t now_ms = 100 * MINUTE, took_ms = 0;
    for (unsigned i = 0; now_ms < 160 * MINUTE; now_ms += 1000) {
        char version[ID_SIZE];
        snprintf(version, sizeof version, "tpv_many_%u", i);
        struct warm_want bad = want("tea_many", version);
        if (warm_rests(&bad, now_ms))
            continue;
        now_ms += 15000;
        took_ms += 15000;
        warm_rest_note(&bad, 15000, now_ms);
        i++;
    }
    assert_true(took_ms > 0 && took_ms < 60 * MINUTE / WARM_REST_OWNER);
}

/* The deployment's own template has no such note: its failure is the host's. */
TEST(a_version_of_the_deployment_rests_alone)
{
    struct warm_want ours = want("", "tpv_ours"), another = want("", "tpv_another");
    warm_rest_note(&ours, 15000, 200 * MINUTE);
    assert_true(warm_rests(&ours, 201 * MINUTE));
    assert_false(warm_rests(&another, 201 * MINUTE));
}

/* Starts that fail at once could fill all places. */
TEST(notes_of_a_team_push_out_no_others)
{
    struct warm_want quiet = want("tea_quiet", "tpv_quiet");
    warm_rest_note(&quiet, 15000, 300 * MINUTE);
    for (unsigned i = 0; i < 40 * 100; i++) {
        char team[ID_SIZE], version[ID_SIZE];
        snprintf(team, sizeof team, "tea_flood_%u", i % 40);
        snprintf(version, sizeof version, "tpv_flood_%u", i);
        struct warm_want bad = want(team, version);
        warm_rest_note(&bad, 15000, 300 * MINUTE);
        assert_true(warm_rests(&bad, 300 * MINUTE));
        assert_true(warm_rests(&quiet, 301 * MINUTE));
    }
    assert_true(warm_rests(&quiet, 309 * MINUTE));
}
