/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The transfers of webhooks that teams and users may have at once. */
#include "unit/unit.h"

#include "dispatcher/webhook_shares.h"

static struct webhook_shares shares;

static int set_up(void **state)
{
    webhook_shares_init(&shares);
    return 0;
}

static int tear_down(void **state)
{
    webhook_shares_deinit(&shares);
    return 0;
}

/* Begin as many transfers as the tenant gets, and return their number. */
static unsigned take(const char *team, const char *user)
{
    struct webhook_share *of_team = webhook_share_join(&shares, team);
    struct webhook_share *of_user = webhook_share_join(&shares, user);
    unsigned count = 0;
    for (; webhook_share_has_room(&shares, of_team, of_user); count++)
        webhook_share_begin(&shares, of_team, of_user);
    return count;
}

TEST_WITH(a_user_has_as_many_in_all_teams_as_in_one, set_up, tear_down)
{
    assert_int_equal(take("tea_1", "usr_1"), WEBHOOK_AHEAD_TENANT);
    assert_int_equal(take("tea_2", "usr_1"), 0);
    assert_int_equal(take("tea_1", "usr_2"), 0);
    assert_int_equal(take("tea_2", "usr_2"), WEBHOOK_AHEAD_TENANT);
}

TEST_WITH(many_busy_tenants_leave_some_to_others, set_up, tear_down)
{
    char team[16], user[16];
    for (unsigned i = 0; i < 60; i++) {
        snprintf(team, sizeof team, "tea_%u", i);
        snprintf(user, sizeof user, "usr_%u", i);
        take(team, user);
    }
    assert_true(shares.sending >= WEBHOOK_AHEAD_ALL / 2 && shares.sending < WEBHOOK_AHEAD_ALL);
    assert_int_equal(take("tea_other", "usr_other"), WEBHOOK_AHEAD_BUSY);
}

TEST_WITH(there_is_an_end_of_all, set_up, tear_down)
{
    char team[16], user[16];
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(team, sizeof team, "tea_%u", i);
        snprintf(user, sizeof user, "usr_%u", i);
        take(team, user);
    }
    assert_int_equal(shares.sending, WEBHOOK_AHEAD_ALL);
}

TEST_WITH(an_unused_share_is_forgotten, set_up, tear_down)
{
    struct webhook_share *one = webhook_share_join(&shares, "tea_1");
    assert_ptr_equal(webhook_share_join(&shares, "tea_1"), one);
    webhook_share_leave(&shares, one);
    assert_int_equal(json_object_size(shares.by_id), 1);
    webhook_share_leave(&shares, one);
    assert_int_equal(json_object_size(shares.by_id), 0);
}
