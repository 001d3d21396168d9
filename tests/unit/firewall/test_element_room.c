/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "firewall/element_room.h"

#define SANDBOXES 512

static struct filter *filter;
static struct filter_sandbox *sandboxes;

static int begin(void **state)
{
    filter = xcalloc(1, sizeof *filter);
    sandboxes = xcalloc(SANDBOXES, sizeof *sandboxes);
    return 0;
}

static int end(void **state)
{
    free(sandboxes);
    free(filter);
    return 0;
}

/* Let a new sandbox take as many elements as it may have. */
static size_t fill(uint64_t tenant, uint64_t user)
{
    struct filter_sandbox *sandbox = &sandboxes[filter->count++];
    struct filter_sandbox **bucket = &filter->buckets[filter->count % 8];
    assert_in_range(filter->count, 1, SANDBOXES);
    sandbox->wire = (struct policy_wire){.tenant = tenant, .user = user};
    sandbox->next = *bucket;
    *bucket = sandbox;
    sandbox->element_count = element_room(filter, sandbox, &sandbox->wire);
    filter->element_count += sandbox->element_count;
    return sandbox->element_count;
}

static size_t fill_all(uint64_t tenant, uint64_t user)
{
    size_t total = 0, got;
    while ((got = fill(tenant, user)))
        total += got;
    return total;
}

TEST_WITH(a_team_leaves_half_of_the_room_to_others, begin, end)
{
    assert_int_equal(fill_all(1, 1), ELEMENTS_ALL / 2);
    assert_int_equal(fill(1, 2), 0);
    assert_int_equal(fill(2, 1), 0); /* the same user in another team */
    assert_int_equal(fill_all(2, 2), ELEMENTS_ALL / 4);
    assert_int_equal(fill(3, 3), ELEMENTS_MAX);
}

TEST_WITH(a_sandbox_keeps_the_elements_that_it_has, begin, end)
{
    fill_all(1, 1);
    fill_all(2, 2);
    assert_int_equal(element_room(filter, &sandboxes[0], &sandboxes[0].wire), ELEMENTS_MAX);
    sandboxes[1].element_count -= 7;
    filter->element_count -= 7;
    assert_int_equal(element_room(filter, &sandboxes[1], &sandboxes[1].wire), ELEMENTS_MAX - 7);
}

#define LARGE (1u << 20)

/* Let a new sandbox have a large policy, if there is room. */
static bool put_large(uint64_t tenant, uint64_t user)
{
    struct filter_sandbox *sandbox = &sandboxes[filter->count];
    struct filter_sandbox **bucket = &filter->buckets[filter->count % 8];
    const struct policy_wire wire = {.tenant = tenant, .user = user, .bytes = LARGE};
    assert_in_range(filter->count, 0, SANDBOXES - 1);
    if (!policy_fits(filter, NULL, &wire))
        return false;
    filter->count++;
    sandbox->wire = wire;
    sandbox->next = *bucket;
    *bucket = sandbox;
    return true;
}

TEST_WITH(policies_of_a_team_leave_half_of_the_memory, begin, end)
{
    unsigned count = 0;
    while (put_large(1, 1))
        count++;
    assert_int_equal(count, POLICIES_BYTES / LARGE / 2);
    assert_false(put_large(1, 2));
    assert_false(put_large(2, 1)); /* the same user in another team */
    assert_true(put_large(2, 2));
    struct policy_wire wire = {.tenant = 1, .user = 1, .bytes = LARGE};
    assert_true(policy_fits(filter, &sandboxes[0], &wire));
    wire.bytes++;
    assert_false(policy_fits(filter, &sandboxes[0], &wire));
}
