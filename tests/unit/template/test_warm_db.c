/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Claims of waiting instances by several transactions that are open at the same time. */
#include "unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "template/warm_row.h"
#include "unit/fleet.h"
#include "unit/schema.h"

#define CLAIMS 8

static struct template_version version;
static struct host host = {UNIT_HOST, .name = "one", .address_range = "10.1.0.0/24", .vcpus = 100,
                           .memory_mb = 100000};
static const struct runtime_resources wanted = {1, 512, 20}, other = {1, 512, 10};

static int set_up(void **state)
{
    struct error *err = NULL;
    char name[64];
    if (schema_setup(state) < 0)
        return -1;
    snprintf(name, sizeof name, "src-python");
    return unit_template(db, &version, &err) < 0 || host_put(db, &host, &err) < 0 ||
           template_source_add(db, version.id, host.id, name, &err) < 0;
}

static void add_starting(const char *name, const struct runtime_resources *resources)
{
    struct error *err = NULL;
    struct warm_instance warm = {.host_id = host.id, .agent_key_id = 1, .resources = *resources};
    snprintf(warm.name, sizeof warm.name, "%s", name);
    memcpy(warm.template_version_id, version.id, sizeof warm.template_version_id);
    assert_ok(warm_row_insert(db, &warm, 60, &err));
}

static void add_ready(const char *name, const struct runtime_resources *resources)
{
    struct error *err = NULL;
    add_starting(name, resources);
    assert_ok(warm_row_ready(db, name, &err));
}

struct claims {
    unsigned made;
    struct warm_instance warm[CLAIMS];
};

/* Each claims in its own transaction, and the next one begins before any of them ends. */
static int claim_body(struct db *with, void *context, struct error **err)
{
    struct claims *claims = context;
    if (warm_claim(with, version.id, &wanted, true, 0, 0, &claims->warm[claims->made++], err) < 0)
        return -1;
    if (claims->made == CLAIMS)
        return 0;
    struct db *next = server_open(server);
    int result = db_transaction(next, claim_body, claims, err);
    db_close(next);
    return result;
}

TEST(claims_at_the_same_time_find_an_instance_each)
{
    struct error *err = NULL;
    struct claims claims = {0};
    for (unsigned i = 0; i < CLAIMS; i++) {
        char name[16];
        snprintf(name, sizeof name, "warm-%u", i);
        add_ready(name, i % 2 ? &wanted : &other);
    }
    assert_ok(db_transaction(db, claim_body, &claims, &err));
    for (unsigned i = 0; i < CLAIMS; i++) {
        assert_true(claims.warm[i].name[0]);
        /* Those of the wanted size go first. */
        assert_int_equal(claims.warm[i].resources.disk_gb,
                         i < CLAIMS / 2 ? wanted.disk_gb : other.disk_gb);
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(claims.warm[i].name, claims.warm[j].name);
    }
    struct claims none = {.made = CLAIMS - 1};
    assert_ok(db_transaction(db, claim_body, &none, &err));
    assert_string_equal(none.warm[CLAIMS - 1].name, "");
}

static int claim_one_body(struct db *with, void *context, struct error **err)
{
    return warm_claim(with, version.id, &wanted, true, 0, 0, context, err);
}

TEST(what_was_known_may_have_gone)
{
    struct error *err = NULL;
    struct warm_instance warm;
    char names[4][16];
    for (unsigned i = 0; i < 4; i++) {
        snprintf(names[i], sizeof names[i], "warm-known-%u", i);
        add_ready(names[i], &wanted);
    }
    assert_ok(db_transaction(db, claim_one_body, &warm, &err));
    assert_true(warm.name[0]);
    for (unsigned i = 0; i < 4; i++)
        assert_ok(warm_dismiss(db, names[i], &err));
    assert_ok(db_transaction(db, claim_one_body, &warm, &err));
    assert_string_equal(warm.name, "");
    add_ready("warm-known-late", &wanted);
    assert_ok(db_transaction(db, claim_one_body, &warm, &err));
    assert_string_equal(warm.name, "warm-known-late");
}

static int claim_but_two_body(struct db *with, void *context, struct error **err)
{
    return warm_claim(with, version.id, &wanted, true, 0, 2, context, err);
}

TEST(the_last_ones_are_left_to_others)
{
    struct error *err = NULL;
    struct warm_instance warm;
    for (unsigned i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "warm-left-%u", i);
        add_ready(name, &wanted);
    }
    assert_ok(db_transaction(db, claim_but_two_body, &warm, &err));
    assert_true(warm.name[0]);
    assert_ok(db_transaction(db, claim_but_two_body, &warm, &err));
    assert_string_equal(warm.name, "");
    for (unsigned i = 0; i < 2; i++) {
        assert_ok(db_transaction(db, claim_one_body, &warm, &err));
        assert_true(warm.name[0]);
    }
}

TEST(who_starts_one_learns_that_it_was_dismissed)
{
    struct error *err = NULL;
    add_starting("warm-dismissed", &wanted);
    assert_ok(warm_row_renew(db, "warm-dismissed", 60, &err));
    assert_ok(warm_dismiss(db, "warm-dismissed", &err));
    assert_fails(warm_row_renew(db, "warm-dismissed", 60, &err), ERR_LEASE_LOST);
    error_clear(&err);
    assert_fails(warm_row_ready(db, "warm-dismissed", &err), ERR_LEASE_LOST);
    error_clear(&err);
}

TEST(what_starts_or_leaves_does_not_wait)
{
    struct error *err = NULL;
    struct warm_ready *list;
    size_t count;
    add_starting("warm-starts", &wanted);
    add_ready("warm-waits", &wanted);
    add_ready("warm-leaves", &wanted);
    assert_ok(warm_dismiss(db, "warm-leaves", &err));
    assert_ok(warm_ready_on_host(db, host.id, &list, &count, &err));
    assert_int_equal(count, 1);
    assert_string_equal(list[0].instance_name, "warm-waits");
    free(list);
    assert_ok(warm_ready_on_host(db, host.id + 1, &list, &count, &err));
    assert_int_equal(count, 0);
    free(list);
}

TEST_GROUP(set_up, schema_teardown)
