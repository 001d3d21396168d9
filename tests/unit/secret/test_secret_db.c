/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A change of a secret reaches the sandboxes whose policies mention it, and reads no others. */
#include "unit/unit.h"

#include "secret/changed_secret.h"
#include "secret/egress_secrets.h"
#include "secret/secret.h"
#include "unit/tenants.h"

#define OTHERS    500
#define READS_MAX 100 /* fewer than OTHERS: of the secret, the team, its plan and one sandbox */
#define MENTIONS                                                        \
    "{\"rules\": [{\"host\": \"api.example.com\", \"headers\": {\"x\":" \
    " \"${secrets.token}\"}}]}"

static void put_sandbox(const struct team *team, const char *id, int reserved, const char *network)
{
    struct error *err = NULL;
    autofree char *text =
        xasprintf("INSERT INTO sandboxes (id, team_id, route, instance_name, visible, reserved)"
                  " VALUES ('%s', '%s', '%s', '%s', 1, %d)",
                  id, team->id, id, id, reserved);
    server_say(raw, text);
    assert_ok(egress_rules_follow(db, team->id, id, network, true, &err));
}

static int change_secret(const struct secret_change *change, struct error **err)
{
    struct secret secret = {.hosts = NULL};
    bool created;
    int result = secret_put(db, ring, &acme, alice.id, change, &secret, &created, err);
    secret_deinit(&secret);
    return result;
}

static int put_secret(const char *value, struct error **err)
{
    json_auto_t *hosts = json_pack("[s]", SECRET_ANY_HOST);
    return change_secret(&(struct secret_change){.name = "token", .value = value, .hosts = hosts},
                         err);
}

static long ask(const char *what, const char *id)
{
    autofree char *text = xasprintf("SELECT %s FROM sandboxes WHERE id = '%s'", what, id);
    return server_ask(raw, text);
}

TEST(a_change_reaches_those_that_mention_it)
{
    struct error *err = NULL;
    put_sandbox(&acme, "sbx_runs", 1, MENTIONS);
    put_sandbox(&acme, "sbx_paused", 0, MENTIONS);
    put_sandbox(&acme, "sbx_without", 1, "{}");
    put_sandbox(&other, "sbx_of_other", 1, MENTIONS);
    assert_ok(put_secret("one", &err));
    assert_int_equal(ask("network_revision", "sbx_runs"), 2);
    assert_int_equal(ask("network_due_at_ms IS NOT NULL", "sbx_runs"), 1);
    assert_int_equal(ask("network_revision", "sbx_paused"), 2);
    assert_int_equal(ask("network_due_at_ms IS NOT NULL", "sbx_paused"), 0);
    assert_int_equal(ask("network_revision", "sbx_without"), 1);
    assert_int_equal(ask("network_revision", "sbx_of_other"), 1);
    /* Policies do not contain the metadata of a secret. */
    json_auto_t *notes = json_pack("{s:s}", "owner", "me");
    assert_ok(change_secret(&(struct secret_change){.name = "token", .metadata = notes}, &err));
    assert_int_equal(ask("network_revision", "sbx_runs"), 2);
    /* The next policy, and a deleted sandbox, mention it no more. */
    assert_ok(egress_rules_follow(db, acme.id, "sbx_runs", "{}", false, &err));
    assert_ok(secret_unfollow(db, "sbx_paused", &err));
    assert_ok(put_secret("two", &err));
    assert_int_equal(ask("network_revision", "sbx_runs"), 2);
    assert_int_equal(ask("network_revision", "sbx_paused"), 2);
    assert_ok(egress_rules_follow(db, acme.id, "sbx_runs", MENTIONS, false, &err));
    assert_ok(secret_delete(db, acme.id, "token", &err));
    assert_int_equal(ask("network_revision", "sbx_runs"), 3);
    server_say(raw, "DELETE FROM sandboxes");
    server_say(raw, "DELETE FROM sandbox_secrets");
}

TEST(the_cost_is_that_of_those)
{
    struct error *err = NULL;
    put_sandbox(&acme, "sbx_runs", 1, MENTIONS);
    for (unsigned i = 0; i < OTHERS; i++) {
        autofree char *without = xasprintf("sbx_%u", i), *of_other = xasprintf("sbx_o%u", i);
        put_sandbox(&acme, without, 1, "{}");
        put_sandbox(&other, of_other, 1, MENTIONS);
    }
    uint64_t before = schema_reads();
    assert_ok(put_secret("one", &err));
    assert_true(schema_reads() - before < READS_MAX);
    assert_int_equal(ask("network_revision", "sbx_runs"), 2);
}

/* Do a piece of the work that is due, and return whether there was one. */
static bool do_piece(void)
{
    struct error *err = NULL;
    bool worked;
    server_say(raw, "UPDATE changed_secrets SET due_at_ms = 0 WHERE due_at_ms > 1e12");
    assert_ok(changed_secret_next(db, &worked, &err));
    return worked;
}

static long with_revision(unsigned revision)
{
    autofree char *text = xasprintf(
        "SELECT COUNT(*) FROM sandboxes WHERE id LIKE 'sbx_m%%' AND network_revision = %u",
        revision);
    return server_ask(raw, text);
}

/* No transaction holds the rows of all sandboxes of a team. */
TEST(a_change_is_given_to_many_in_pieces)
{
    struct error *err = NULL;
    bool worked;
    for (unsigned i = 0; i < 250; i++) {
        autofree char *id = xasprintf("sbx_m%03u", i);
        put_sandbox(&acme, id, 1, MENTIONS);
    }
    assert_ok(changed_secret_note(db, acme.id, "token", &err));
    assert_ok(changed_secret_next(db, &worked, &err));
    assert_false(worked); /* the request that has changed it is doing the work */
    assert_true(do_piece());
    assert_int_equal(with_revision(2), 100);
    /* Another change begins again. */
    assert_ok(changed_secret_note(db, acme.id, "token", &err));
    assert_true(do_piece());
    assert_int_equal(with_revision(3), 100);
    assert_int_equal(with_revision(1), 150);
    assert_true(do_piece());
    assert_true(do_piece());
    assert_false(do_piece());
    assert_int_equal(with_revision(3), 100);
    assert_int_equal(with_revision(2), 150);
    /* The request itself updates all sandboxes. */
    assert_ok(put_secret("one", &err));
    assert_int_equal(with_revision(4), 100);
    assert_int_equal(with_revision(3), 150);
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM changed_secrets"), 0);
    server_say(raw, "DELETE FROM sandboxes WHERE id LIKE 'sbx_m%'");
    server_say(raw, "DELETE FROM sandbox_secrets WHERE sandbox_id LIKE 'sbx_m%'");
}

/* A secret that E2B's client made for a policy goes when no sandbox mentions it any more. */
TEST(one_that_a_sandbox_mentions_does_not_expire)
{
    struct error *err = NULL;
    struct secret secret = {.hosts = NULL};
    assert_ok(put_secret("one", &err));
    server_say(raw, "UPDATE secrets SET for_sandboxes = 1, updated_at_ms = 1");
    assert_ok(secrets_expire(db, &err));
    assert_ok(secret_get(db, acme.id, "token", &secret, &err));
    secret_deinit(&secret);
    assert_ok(secret_unfollow(db, "sbx_runs", &err));
    assert_ok(secrets_expire(db, &err));
    assert_fails_saying(secret_get(db, acme.id, "token", &secret, &err), ERR_NOT_FOUND, "secret");
}

/* E2B's clients may give each sandbox an account of its own at an egress proxy. */
TEST(secrets_for_sandboxes_leave_the_own_ones_of_a_team)
{
    struct error *err = NULL;
    json_auto_t *hosts = json_pack("[s]", "proxy.example.com");
    struct secret_change change = {
        .name = "made", .value = "v", .hosts = hosts, .for_sandboxes = true};
    server_say(raw, "DELETE FROM secrets");
    for (unsigned i = 1; i < SECRETS_MADE_MAX; i++) {
        autofree char *made = xasprintf(
            "INSERT INTO secrets (id, team_id, name, hosts, value, for_sandboxes, created_by,"
            " created_at_ms, updated_at_ms) VALUES ('sec_%u', '%s', 'made%u', '[]', '', 1, '', 1, "
            "1)",
            i, acme.id, i);
        server_say(raw, made);
    }
    assert_ok(put_secret("one", &err));
    assert_ok(change_secret(&change, &err));
    /* A list of secrets has all of these passwords, so they take no metadata. */
    json_auto_t *metadata = json_pack("{s:s}", "note", "long");
    struct secret_change described = change;
    described.for_sandboxes = false;
    described.metadata = metadata;
    assert_fails_saying(change_secret(&described, &err), ERR_INVALID_REQUEST, "no metadata");
    change.name = "another";
    assert_fails_saying(change_secret(&change, &err), ERR_INVALID_REQUEST, "egress proxies");
    server_say(raw, "UPDATE secrets SET for_sandboxes = 0");
    assert_ok(change_secret(&change, &err));
    change.for_sandboxes = false;
    change.name = "own";
    assert_fails_saying(change_secret(&change, &err), ERR_INVALID_REQUEST, "100 secrets");
}

/* Each host reports the uses every few seconds. */
TEST(uses_of_all_secrets_are_one_statement)
{
    struct error *err = NULL;
    json_auto_t *uses = json_pack("{s:i, s:i, s:i}", "token", 1000, "Token", 3000, "gone", 1000);
    json_auto_t *older = json_pack("{s:i}", "token", 500);
    server_say(raw, "DELETE FROM secrets");
    assert_ok(put_secret("one", &err));
    assert_ok(secrets_used(db, acme.id, uses, &err));
    assert_int_equal(server_ask(raw, "SELECT used_at_ms FROM secrets"), 1000);
    assert_ok(secrets_used(db, acme.id, older, &err));
    assert_ok(secrets_used(db, other.id, uses, &err));
    assert_int_equal(server_ask(raw, "SELECT used_at_ms FROM secrets"), 1000);
}

TEST(a_secret_of_a_locked_sandbox_delays_no_other)
{
    struct error *err = NULL;
    bool worked;
    struct db *impatient = server_open_at(server->socket, 2);
    server_say(raw, "DELETE FROM sandboxes");
    server_say(raw, "DELETE FROM sandbox_secrets");
    put_sandbox(&acme, "sbx_l1", 1, MENTIONS);
    put_sandbox(&other, "sbx_l2", 1, MENTIONS);
    assert_ok(changed_secret_note(db, acme.id, "token", &err));
    server_say(raw, "UPDATE changed_secrets SET due_at_ms = 1");
    assert_ok(changed_secret_note(db, other.id, "token", &err));
    server_say(raw, "UPDATE changed_secrets SET due_at_ms = 2 WHERE due_at_ms > 1");
    server_say(raw, "START TRANSACTION");
    server_say(raw, "SELECT id FROM sandboxes WHERE id = 'sbx_l1' FOR UPDATE");
    assert_fails(changed_secret_next(impatient, &worked, &err), ERR_DB_DEADLOCK);
    error_clear(&err);
    assert_true(worked);
    db_close(impatient);
    assert_ok(changed_secret_next(db, &worked, &err));
    assert_true(worked);
    assert_int_equal(ask("network_revision", "sbx_l2"), 2);
    server_say(raw, "COMMIT");
    assert_int_equal(ask("network_revision", "sbx_l1"), 1);
    assert_true(do_piece());
    assert_int_equal(ask("network_revision", "sbx_l1"), 2);
    assert_false(do_piece());
}

/* For example with a full disk. The dispatcher would try again and again, without a pause. */
TEST(a_database_that_takes_no_change_is_left_in_peace)
{
    struct error *err = NULL;
    bool worked;
    put_sandbox(&acme, "sbx_f1", 1, MENTIONS);
    assert_ok(changed_secret_note(db, acme.id, "token", &err));
    server_say(raw, "UPDATE changed_secrets SET due_at_ms = 1");
    server_say(raw, "CREATE TRIGGER full_1 BEFORE UPDATE ON sandboxes FOR EACH ROW"
                    " SIGNAL SQLSTATE '45000'");
    server_say(raw, "CREATE TRIGGER full_2 BEFORE UPDATE ON changed_secrets FOR EACH ROW"
                    " SIGNAL SQLSTATE '45000'");
    assert_fails(changed_secret_next(db, &worked, &err), ERR_INTERNAL);
    error_clear(&err);
    assert_false(worked);
    server_say(raw, "DROP TRIGGER full_1");
    server_say(raw, "DROP TRIGGER full_2");
    assert_true(do_piece());
    assert_false(do_piece());
}

LIST_TEST(every_statement_can_be_prepared, NULL, NULL)

TEST_GROUP(tenants_setup_unchecked, tenants_teardown)
