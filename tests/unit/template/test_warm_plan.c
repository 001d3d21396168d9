/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <stdio.h>

#include "template/warm_plan.h"

#define SMALL ((struct runtime_resources){1, 512, 10})
#define LARGE ((struct runtime_resources){2, 2048, 20})

static struct warm_plan plan;

static void ask(const char *team, const char *version, struct runtime_resources resources,
                unsigned peak)
{
    struct warm_want want = {.resources = resources};
    snprintf(want.template_version_id, sizeof want.template_version_id, "%s", version);
    warm_plan_add(&plan, team, &want, peak);
}

static unsigned wanted(const char *version, struct runtime_resources resources)
{
    return warm_plan_find(&plan, version, &resources)->wanted;
}

TEST(a_wave_is_expected_again_and_a_fourth_more)
{
    plan = (struct warm_plan){.memory_mb = 2400};
    ask("one", "v", SMALL, 100);
    ask("one", "v", LARGE, 8);
    warm_plan_decide(&plan);
    assert_int_equal(wanted("v", SMALL), 125);
    assert_int_equal(wanted("v", LARGE), 10);
}

TEST(teams_that_ask_for_the_same_are_added_up)
{
    plan = (struct warm_plan){.memory_mb = 2400};
    ask("one", "v", SMALL, 8);
    ask("two", "v", SMALL, 4);
    warm_plan_decide(&plan);
    assert_int_equal(plan.count, 1);
    assert_int_equal(wanted("v", SMALL), 15);
}

/* Whatever one asks for, in however many sizes, others have their part. */
TEST(no_team_takes_the_part_of_another)
{
    plan = (struct warm_plan){.memory_mb = 1600}; /* a hundred */
    for (unsigned i = 0; i < 20; i++)
        ask("greedy", "v", (struct runtime_resources){1, 256 * (i + 1), 10}, 1000);
    ask("modest", "w", LARGE, 8);
    ask("other", "x", LARGE, 40);
    warm_plan_decide(&plan);
    assert_int_equal(wanted("w", LARGE), 10);
    assert_true(wanted("x", LARGE) >= 33);
    unsigned sum = 0;
    for (unsigned i = 0; i < plan.count; i++)
        sum += plan.wants[i].wanted;
    assert_int_equal(sum, 100);
}

TEST(a_virtual_machine_takes_all_of_its_memory)
{
    plan = (struct warm_plan){.memory_mb = 5000};
    struct warm_want want = {.virtual_machine = true, .resources = LARGE};
    snprintf(want.template_version_id, sizeof want.template_version_id, "vm");
    warm_plan_add(&plan, "one", &want, 10);
    warm_plan_decide(&plan);
    assert_int_equal(wanted("vm", LARGE), 2);
}

static void ask_memory(const char *team, const char *version, unsigned memory_mb, unsigned peak)
{
    struct warm_want want = {.resources = {1, memory_mb, 10}, .memory_id = "memory"};
    snprintf(want.template_version_id, sizeof want.template_version_id, "%s", version);
    warm_plan_add(&plan, team, &want, peak);
}

/* Their programs run without a sandbox that counts. */
TEST(few_instances_of_a_team_start_from_memory)
{
    plan = (struct warm_plan){.memory_mb = 8000};
    ask_memory("one", "v", 512, 100);
    ask_memory("one", "w", 512, 100);
    ask_memory("two", "x", 512, 1);
    ask("two", "x", LARGE, 8);
    warm_plan_decide(&plan);
    unsigned of_one = wanted("v", SMALL) + wanted("w", SMALL);
    assert_int_equal(of_one, WARM_RESTORED_MOST);
    assert_int_equal(wanted("x", SMALL), 1);
    assert_int_equal(wanted("x", LARGE), 10);
    plan = (struct warm_plan){.memory_mb = 1000};
    ask_memory("one", "v", 600, 8);
    warm_plan_decide(&plan);
    assert_int_equal(wanted("v", ((struct runtime_resources){1, 600, 10})), 1);
}

TEST(without_memory_or_demand_nothing_waits)
{
    plan = (struct warm_plan){.memory_mb = 1000};
    warm_plan_decide(&plan);
    plan.memory_mb = 0;
    ask("one", "v", SMALL, 10);
    warm_plan_decide(&plan);
    assert_int_equal(wanted("v", SMALL), 0);
}

static struct warm_want default_template(void)
{
    struct warm_want want = {.resources = {1, 512, 0}};
    snprintf(want.template_version_id, sizeof want.template_version_id, "default");
    return want;
}

static unsigned wanted_disk(unsigned disk_gb)
{
    struct warm_want *want =
        warm_plan_find(&plan, "default", &(struct runtime_resources){1, 512, disk_gb});
    return want ? want->wanted : 0;
}

TEST(what_waits_in_any_case_is_of_the_sizes_of_most_teams)
{
    const struct warm_sizes sizes = {4, {{20, 60}, {10, 30}, {50, 9}, {5, 1}}};
    struct warm_want want = default_template();
    plan = (struct warm_plan){.memory_mb = 1000000};
    warm_plan_keep(&plan, &want, &sizes, 9);
    assert_int_equal(wanted_disk(20), 6);
    assert_int_equal(wanted_disk(10), 3);
    assert_int_equal(wanted_disk(50), 0);
    assert_int_equal(wanted_disk(5), 0);
}

TEST(without_teams_one_size_waits)
{
    const struct warm_sizes sizes = {2, {{10, 0}, {20, 0}}};
    struct warm_want want = default_template();
    plan = (struct warm_plan){.memory_mb = 1000000};
    warm_plan_keep(&plan, &want, &sizes, 7);
    assert_int_equal(wanted_disk(10), 7);
    assert_int_equal(wanted_disk(20), 0);
}

/* Of the rest of the memory others have their part. */
TEST(what_waits_in_any_case_takes_two_thirds)
{
    const struct warm_sizes sizes = {1, {{10, 1}}};
    struct warm_want want = default_template();
    plan = (struct warm_plan){.memory_mb = 4800}; /* three hundred */
    warm_plan_keep(&plan, &want, &sizes, 1000);
    assert_int_equal(wanted_disk(10), 200);
    ask("one", "v", SMALL, 1000);
    warm_plan_decide(&plan);
    assert_int_equal(wanted_disk(10), 200);
    assert_int_equal(wanted("v", SMALL), 100);
}

TEST(what_waits_in_any_case_serves_who_asks)
{
    const struct warm_sizes sizes = {1, {{10, 1}}};
    struct warm_want want = default_template();
    plan = (struct warm_plan){.memory_mb = 4800};
    warm_plan_keep(&plan, &want, &sizes, 20);
    ask("one", "default", SMALL, 8);
    ask("two", "default", SMALL, 16);
    warm_plan_decide(&plan);
    assert_int_equal(wanted_disk(10), 30);
}

/* Without a share of the memory as many as is said. */
TEST(what_waits_in_any_case_alone)
{
    const struct warm_sizes sizes = {1, {{10, 1}}};
    struct warm_want want = default_template();
    plan = (struct warm_plan){.memory_mb = 0};
    warm_plan_keep(&plan, &want, &sizes, 20);
    warm_plan_decide(&plan);
    assert_int_equal(wanted_disk(10), 20);
}
