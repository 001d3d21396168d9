/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "firewall/shares.h"

#define PER_S   1000
#define STEP_MS 5

static struct shares *shares;
static int64_t now_ms;

static int begin(void **state)
{
    shares = xcalloc(1, sizeof *shares);
    shares->per_s = PER_S;
    now_ms = 1000000;
    return 0;
}

static int end(void **state)
{
    free(shares);
    return 0;
}

/* Count the uses of each tenant while every tenant wants more. At the end, no tenant has room. */
static void use_for_s(const struct tenant *tenants, unsigned *got, unsigned count, unsigned s)
{
    for (unsigned i = 0; i < count; i++)
        got[i] = 0;
    for (int64_t until_ms = now_ms + (int64_t)s * 1000; now_ms < until_ms; now_ms += STEP_MS)
        for (unsigned i = 0; i < count; i++)
            for (unsigned n = 0; n < PER_S && shares_has_room(shares, &tenants[i], now_ms); n++) {
                shares_use(shares, &tenants[i], 1, now_ms);
                got[i]++;
            }
    now_ms -= STEP_MS;
}

TEST_WITH(a_team_alone_has_half, begin, end)
{
    static const struct tenant one = {1, 1};
    unsigned got;
    use_for_s(&one, &got, 1, 10);
    use_for_s(&one, &got, 1, 10);
    assert_in_range(got, 10 * PER_S * 45 / 100, 10 * PER_S * 55 / 100);
    assert_false(shares_has_room(shares, &one, now_ms));
    assert_false(shares_has_room(shares, &(struct tenant){1, 2}, now_ms));
    assert_false(shares_has_room(shares, &(struct tenant){2, 1}, now_ms)); /* the same user */
    assert_true(shares_has_room(shares, &(struct tenant){2, 2}, now_ms));
    now_ms += 60000;
    assert_true(shares_has_room(shares, &one, now_ms));
}

TEST_WITH(busy_teams_have_the_same_and_leave_room, begin, end)
{
    static const struct tenant busy[] = {{1, 1}, {2, 2}, {3, 3}};
    unsigned got[3];
    use_for_s(busy, got, 1, 10); /* the first one comes long before the others */
    use_for_s(busy, got, 3, 10);
    use_for_s(busy, got, 3, 10);
    for (unsigned i = 0; i < 3; i++)
        assert_in_range(got[i], 10 * PER_S * 22 / 100, 10 * PER_S * 28 / 100);
    for (unsigned n = 0; n < PER_S * 2 / 10; n++) {
        assert_true(shares_has_room(shares, &(struct tenant){4, 4}, now_ms));
        shares_use(shares, &(struct tenant){4, 4}, 1, now_ms);
    }
}

/* A user without a number, as in sandboxes from before, counts for its team alone. */
TEST_WITH(an_unknown_user_has_no_share, begin, end)
{
    static const struct tenant one = {1, 0};
    unsigned got;
    use_for_s(&one, &got, 1, 10);
    assert_false(shares_has_room(shares, &one, now_ms));
    assert_true(shares_has_room(shares, &(struct tenant){2, 0}, now_ms));
}
