/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that the policies of a team deny: each counts once, and counting them reads no policies. */
#include "unit/unit.h"

#include "account/account.h"
#include "base/buffer.h"
#include "network/denied_names.h"
#include "unit/schema.h"

#define MAX        600 /* names of a team */
#define SANDBOXES  20
#define POLICY_MAX (1u << 20)
#define READS_MAX  6 /* for each name: two inserts, a count, a purge, and a count again */

static struct user alice, bob;

static int set_up(void **state)
{
    struct error *err = NULL;
    if (schema_setup(state) < 0)
        return -1;
    server_say(raw, "SET SESSION foreign_key_checks = 0, sql_mode = ''");
    return user_create(db, "alice", &alice, &err) < 0 || user_create(db, "bob", &bob, &err) < 0;
}

/* Remove the rows of the test before. */
static int set_up_test(void **state)
{
    server_say(raw, "DELETE FROM sandboxes");
    server_say(raw, "DELETE FROM sandbox_denied_names");
    server_say(raw, "DELETE FROM denied_names");
    return 0;
}

static void put_sandbox(const char *id)
{
    autofree char *text = xasprintf("INSERT INTO sandboxes (id, route, instance_name, visible)"
                                    " VALUES ('%s', '%s', '%s', 1)",
                                    id, id, id);
    server_say(raw, text);
}

/* A policy that denies count names, which begin with a letter and end with numbers from 0 on. */
static char *deny(char letter, unsigned count)
{
    struct buffer text = BUFFER_INIT(POLICY_MAX);
    buffer_append_string(&text, "{\"deny_out\": [");
    for (unsigned i = 0; i < count; i++)
        buffer_printf(&text, "%s\"%c%u.example.com\"", i ? ", " : "", letter, i);
    buffer_append_string(&text, "]}");
    return buffer_steal(&text);
}

struct follow {
    const char *team_id, *sandbox_id, *network;
    bool is_new;
};

static int follow_body(struct db *connection, void *context, struct error **err)
{
    const struct follow *follow = context;
    return denied_names_follow(connection, follow->team_id, follow->sandbox_id, follow->network,
                               follow->is_new, MAX, err);
}

/* Store the names of a new sandbox or of the next policy of an existing one. */
static int follow(const struct user *user, const char *sandbox_id, const char *network,
                  struct error **err)
{
    autofree char *exists = xasprintf("SELECT COUNT(*) FROM sandboxes WHERE id = '%s'", sandbox_id);
    bool is_new = !server_ask(raw, exists);
    struct follow request = {user->personal_team_id, sandbox_id, network, is_new};
    if (is_new)
        put_sandbox(sandbox_id);
    return db_transaction(db, follow_body, &request, err);
}

static long names_of(const char *sandbox_id)
{
    autofree char *text =
        xasprintf("SELECT COUNT(*) FROM sandbox_denied_names WHERE sandbox_id = '%s'", sandbox_id);
    return server_ask(raw, text);
}

TEST_WITH(names_of_lists_rules_and_proxies_count, set_up_test, NULL)
{
    struct error *err = NULL;
    assert_ok(follow(&alice, "sbx_1",
                     "{\"deny_out\": [\"a.example.com\", \"*.example.org\", \"192.0.2.0/24\"],"
                     " \"rules\": [{\"host\": \"b.example.com\"}, {\"host\": \"a.example.com\"}],"
                     " \"egress_proxy\": {\"host\": \"c.example.com\", \"port\": 1080}}",
                     &err));
    assert_int_equal(names_of("sbx_1"), 3);
    assert_ok(follow(&alice, "sbx_1", "{\"deny_out\": [\"192.0.2.0/24\"]}", &err));
    assert_int_equal(names_of("sbx_1"), 0);
}

TEST_WITH(a_team_has_so_many_names, set_up_test, NULL)
{
    struct error *err = NULL;
    autofree char *half = deny('a', MAX / 2), *other_half = deny('b', MAX / 2), *one = deny('c', 1);
    assert_ok(follow(&alice, "sbx_1", half, &err));
    assert_ok(follow(&alice, "sbx_2", half, &err)); /* the same names */
    assert_ok(follow(&alice, "sbx_3", other_half, &err));
    assert_fails_saying(follow(&alice, "sbx_4", one, &err), ERR_INVALID_REQUEST,
                        "there would be 601, and 1 of them");
    assert_int_equal(names_of("sbx_4"), 0);
    assert_ok(follow(&bob, "sbx_5", one, &err));
    /* The previous policy of a sandbox does not count, and names of a deleted one do not. */
    assert_ok(follow(&alice, "sbx_3", one, &err));
    assert_fails_saying(follow(&alice, "sbx_4", other_half, &err), ERR_INVALID_REQUEST, "601");
    assert_ok(denied_names_forget(db, "sbx_3", &err));
    assert_ok(follow(&alice, "sbx_4", other_half, &err));
    assert_int_equal(names_of("sbx_1"), MAX / 2);
    assert_int_equal(names_of("sbx_4"), MAX / 2);
}

/* A policy without names passes after the operator has lowered the bound. */
TEST_WITH(a_policy_without_names_always_passes, set_up_test, NULL)
{
    struct error *err = NULL;
    server_say(raw, "INSERT INTO sandboxes (id, route, instance_name, visible)"
                    " VALUES ('sbx_1', 'r', 'i', 1)");
    autofree char *many =
        xasprintf("INSERT INTO sandbox_denied_names (sandbox_id, team_id, name) SELECT 'sbx_1',"
                  " '%s', id FROM (SELECT UUID() AS id) one",
                  alice.personal_team_id);
    for (unsigned i = 0; i < MAX + 1; i++)
        server_say(raw, many);
    server_say(raw, "INSERT INTO denied_names SELECT team_id, name FROM sandbox_denied_names");
    assert_fails_saying(follow(&alice, "sbx_2", "{\"deny_out\": [\"a.example.com\"]}", &err),
                        ERR_INVALID_REQUEST, "602");
    assert_ok(follow(&alice, "sbx_2", "{}", &err));
    assert_ok(follow(&alice, "sbx_2", "{\"deny_out\": []}", &err));
}

/* Many sandboxes with the same names cost as much as one, also where the room is looked for. */
TEST_WITH(the_cost_is_that_of_different_names, set_up_test, NULL)
{
    struct error *err = NULL;
    autofree char *most = deny('a', MAX), *one = deny('b', 1);
    for (unsigned i = 0; i < SANDBOXES; i++) {
        autofree char *id = xasprintf("sbx_%u", i);
        assert_ok(follow(&alice, id, most, &err));
    }
    uint64_t before = schema_reads();
    assert_fails_saying(follow(&alice, "sbx_last", one, &err), ERR_INVALID_REQUEST, "601");
    assert_true(schema_reads() - before < READS_MAX * MAX);
}

LIST_TEST(every_statement_can_be_prepared, NULL, NULL)

TEST_GROUP(set_up, schema_teardown)
