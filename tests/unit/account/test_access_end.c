/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of access ends all tokens in one transaction that changes few rows. */
#include "unit/unit.h"

#include <sys/wait.h>
#include <unistd.h>

#include "account/access_end.h"
#include "account/token_key.h"
#include "base/clock.h"
#include "gate/gate_db.h"
#include "login/credential.h"
#include "unit/tenants.h"

#define MANY  250
#define KEY   "key_00000000000000000000000001"
#define KEY_2 "key_00000000000000000000000002"

static void say_to(MYSQL *connection, char *text)
{
    server_say(connection, text);
    free(text);
}

static void say(char *text)
{
    say_to(raw, text);
}

static long ask(char *text)
{
    long number = server_ask(raw, text);
    free(text);
    return number;
}

/* Insert sandboxes PREFIX000, PREFIX001 and so on, and a token of the key for each. */
static void put_sandboxes(const struct team *team, const char *prefix, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        autofree char *id = xasprintf("%s%03u", prefix, i);
        say(xasprintf("INSERT INTO sandboxes (id, team_id, route, instance_name, state, visible,"
                      " reserved) VALUES ('%s', '%s', '%s', '%s', 'ready', 1, 1)",
                      id, team->id, id, id));
        say(xasprintf("INSERT INTO sandbox_token_keys (sandbox_id, api_key_id)"
                      " VALUES ('%s', '" KEY "')",
                      id));
    }
}

static int remove_all(void **state)
{
    server_say(raw, "DELETE FROM sandboxes");
    server_say(raw, "DELETE FROM sandbox_token_keys");
    server_say(raw, "DELETE FROM ended_access");
    server_say(raw, "UPDATE teams SET session_epoch = 0");
    return 0;
}

/* The epoch that the gate wants in a token. */
static unsigned epoch_of(const char *id)
{
    struct error *err = NULL;
    struct gate_sandbox found;
    assert_ok(gate_sandbox_get(db, id, 80, &found, &err));
    return found.sandbox.session_epoch;
}

static long due(void)
{
    return server_ask(raw, "SELECT COUNT(*) FROM sandboxes WHERE sessions_due_at_ms IS NOT NULL");
}

static int end_team(struct db *database, void *context, struct error **err)
{
    return access_end_of_team(database, context, err);
}

static int end_user(struct db *database, void *context, struct error **err)
{
    return access_end_of_user(database, context, err);
}

static int end_key(struct db *database, void *context, struct error **err)
{
    unsigned left = ACCESS_END_AT_ONCE;
    return access_end_of_key(database, KEY, context, &left, err);
}

static bool do_piece(void)
{
    struct error *err = NULL;
    bool worked;
    assert_ok(access_end_next(db, &worked, &err));
    return worked;
}

TEST_WITH(connections_of_many_end_in_pieces, NULL, remove_all)
{
    struct error *err = NULL;
    put_sandboxes(&acme, "sbx_m", MANY);
    put_sandboxes(&other, "sbx_o", 1);
    assert_ok(db_transaction(db, end_team, acme.id, &err));
    assert_int_equal(epoch_of("sbx_m000"), 1);
    assert_int_equal(epoch_of("sbx_m249"), 1);
    assert_int_equal(epoch_of("sbx_o000"), 0);
    assert_int_equal(due(), 0);
    assert_true(do_piece());
    assert_int_equal(due(), 100);
    assert_true(do_piece());
    assert_int_equal(due(), 200);
    /* Another end does not keep the last ones waiting; then all come again. */
    assert_ok(db_transaction(db, end_team, acme.id, &err));
    assert_int_equal(epoch_of("sbx_m249"), 2);
    assert_true(do_piece());
    assert_int_equal(due(), MANY);
    server_say(raw, "UPDATE sandboxes SET sessions_due_at_ms = NULL");
    for (unsigned i = 0; i < 3; i++)
        assert_true(do_piece());
    assert_false(do_piece());
    assert_int_equal(due(), MANY);
    assert_int_equal(epoch_of("sbx_m249"), 2);
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM ended_access"), 0);
}

/* The next piece is of the team that has waited longer. */
TEST_WITH(teams_take_turns, NULL, remove_all)
{
    struct error *err = NULL;
    put_sandboxes(&acme, "sbx_m", MANY);
    put_sandboxes(&other, "sbx_o", 1);
    assert_ok(db_transaction(db, end_team, acme.id, &err));
    assert_ok(db_transaction(db, end_team, other.id, &err));
    server_say(raw, "UPDATE ended_access SET due_at_ms = 1");
    assert_true(do_piece());
    assert_true(do_piece());
    assert_int_equal(due(), 101);
}

TEST_WITH(a_user_has_all_teams, NULL, remove_all)
{
    struct error *err = NULL;
    put_sandboxes(&acme, "sbx_m", 1);
    put_sandboxes(&other, "sbx_o", 1);
    assert_ok(db_transaction(db, end_user, alice.id, &err));
    assert_int_equal(epoch_of("sbx_m000"), 1);
    assert_int_equal(epoch_of("sbx_o000"), 0);
    while (do_piece())
        ;
    assert_int_equal(due(), 1);
}

static long keys_left(void)
{
    return server_ask(raw, "SELECT COUNT(*) FROM sandbox_token_keys");
}

TEST_WITH(few_sandboxes_of_a_key_end_alone, NULL, remove_all)
{
    struct error *err = NULL;
    put_sandboxes(&acme, "sbx_m", ACCESS_END_AT_ONCE);
    put_sandboxes(&other, "sbx_o", 1);
    assert_ok(db_transaction(db, end_key, acme.id, &err));
    assert_int_equal(epoch_of("sbx_m099"), 1);
    assert_int_equal(epoch_of("sbx_o000"), 0);
    assert_int_equal(due(), ACCESS_END_AT_ONCE);
    assert_int_equal(keys_left(), 1);
    assert_int_equal(server_ask(raw, "SELECT SUM(session_epoch) FROM teams"), 0);
    assert_ok(db_transaction(db, end_key, NULL, &err));
    assert_int_equal(epoch_of("sbx_o000"), 1);
    assert_int_equal(keys_left(), 0);
}

/* Otherwise the dispatcher would end the tokens of an expired key again and again. */
TEST_WITH(a_deletion_that_has_begun_keeps_no_row_of_a_key, NULL, remove_all)
{
    struct error *err = NULL;
    bool worked;
    put_sandboxes(&acme, "sbx_m", 2);
    server_say(raw, "UPDATE sandboxes SET visible = 0 WHERE id = 'sbx_m001'");
    server_say(raw, "UPDATE sandbox_token_keys SET ends_at_ms = 1");
    assert_ok(token_key_expire_next(db, &worked, &err));
    assert_true(worked);
    assert_int_equal(keys_left(), 0);
    assert_int_equal(epoch_of("sbx_m000"), 1);
    assert_ok(token_key_expire_next(db, &worked, &err));
    assert_false(worked);
}

TEST_WITH(a_key_with_a_locked_sandbox_delays_no_other, NULL, remove_all)
{
    struct error *err = NULL;
    bool worked;
    struct db *impatient = server_open_at(server->socket, 2);
    put_sandboxes(&acme, "sbx_m", 1);
    put_sandboxes(&other, "sbx_o", 1);
    server_say(raw, "UPDATE sandbox_token_keys SET ends_at_ms = 1");
    server_say(raw, "UPDATE sandbox_token_keys SET api_key_id = '" KEY_2
                    "', ends_at_ms = 2 WHERE sandbox_id = 'sbx_o000'");
    server_say(raw, "START TRANSACTION");
    server_say(raw, "SELECT id FROM sandboxes WHERE id = 'sbx_m000' FOR UPDATE");
    assert_fails(token_key_expire_next(impatient, &worked, &err), ERR_DB_DEADLOCK);
    error_clear(&err);
    db_close(impatient);
    assert_ok(token_key_expire_next(db, &worked, &err));
    assert_true(worked);
    assert_int_equal(epoch_of("sbx_o000"), 1);
    server_say(raw, "COMMIT");
    assert_int_equal(epoch_of("sbx_m000"), 0);
    server_say(raw, "UPDATE sandbox_token_keys SET ends_at_ms = 1");
    assert_ok(token_key_expire_next(db, &worked, &err));
    assert_int_equal(epoch_of("sbx_m000"), 1);
    assert_int_equal(keys_left(), 0);
}

static void refuse_changes(const char *table)
{
    say(xasprintf("CREATE TRIGGER %s_is_full BEFORE UPDATE ON %s FOR EACH ROW"
                  " SIGNAL SQLSTATE '45000'",
                  table, table));
}

static void take_changes(const char *table)
{
    say(xasprintf("DROP TRIGGER %s_is_full", table));
}

/* For example with a full disk. The dispatcher would try again and again, without a pause. */
TEST_WITH(a_database_that_takes_no_change_is_left_in_peace, NULL, remove_all)
{
    static const char *const tables[] = {"sandboxes", "sandbox_token_keys", "ended_access"};
    struct error *err = NULL;
    bool worked;
    put_sandboxes(&acme, "sbx_m", 1);
    assert_ok(db_transaction(db, end_team, acme.id, &err));
    server_say(raw, "UPDATE sandbox_token_keys SET ends_at_ms = 1");
    server_say(raw, "UPDATE ended_access SET due_at_ms = 1");
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        refuse_changes(tables[i]);
    assert_fails(token_key_expire_next(db, &worked, &err), ERR_INTERNAL);
    error_clear(&err);
    assert_false(worked);
    assert_fails(access_end_next(db, &worked, &err), ERR_INTERNAL);
    error_clear(&err);
    assert_false(worked);
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        take_changes(tables[i]);
    assert_ok(token_key_expire_next(db, &worked, &err));
    assert_true(worked);
    assert_ok(access_end_next(db, &worked, &err));
    assert_true(worked);
}

TEST_WITH(many_sandboxes_of_a_key_end_with_their_teams, NULL, remove_all)
{
    struct error *err = NULL;
    put_sandboxes(&acme, "sbx_m", ACCESS_END_AT_ONCE);
    put_sandboxes(&other, "sbx_o", 1);
    assert_ok(db_transaction(db, end_key, NULL, &err));
    assert_int_equal(epoch_of("sbx_m000"), 1);
    assert_int_equal(epoch_of("sbx_o000"), 1);
    assert_int_equal(keys_left(), 0);
    /* No row of a sandbox was changed yet. */
    assert_int_equal(server_ask(raw, "SELECT SUM(session_epoch) FROM sandboxes"), 0);
    assert_int_equal(due(), 0);
    assert_int_equal(
        ask(xasprintf("SELECT COUNT(*) FROM ended_access WHERE team_id IN ('%s', '%s')", acme.id,
                      other.id)),
        2);
    while (do_piece())
        ;
    assert_int_equal(due(), ACCESS_END_AT_ONCE + 1);
}

TEST_WITH(a_team_with_a_locked_row_delays_no_other, NULL, remove_all)
{
    struct error *err = NULL;
    bool worked;
    struct db *impatient = server_open_at(server->socket, 2);
    put_sandboxes(&acme, "sbx_m", 1);
    put_sandboxes(&other, "sbx_o", 1);
    assert_ok(db_transaction(db, end_team, acme.id, &err));
    assert_ok(db_transaction(db, end_team, other.id, &err));
    say(xasprintf("UPDATE ended_access SET due_at_ms = IF(team_id = '%s', 1, 2)", acme.id));
    server_say(raw, "START TRANSACTION");
    server_say(raw, "SELECT id FROM sandboxes WHERE id = 'sbx_m000' FOR UPDATE");
    assert_fails(access_end_next(impatient, &worked, &err), ERR_DB_DEADLOCK);
    error_clear(&err);
    db_close(impatient);
    assert_true(do_piece());
    server_say(raw, "COMMIT");
    assert_int_equal(due(), 1);
    server_say(raw, "UPDATE ended_access SET due_at_ms = 1");
    assert_true(do_piece());
    assert_int_equal(due(), 2);
    assert_false(do_piece());
}

static int end_two_keys(struct db *database, void *context, struct error **err)
{
    unsigned *left = context;
    *left = ACCESS_END_AT_ONCE;
    return access_end_of_key(database, KEY, NULL, left, err) < 0
               ? -1
               : access_end_of_key(database, KEY_2, NULL, left, err);
}

/* Other changes lock rows of sandboxes first. */
TEST_WITH(no_rows_of_sandboxes_change_after_rows_of_teams, NULL, remove_all)
{
    struct error *err = NULL;
    unsigned left;
    put_sandboxes(&acme, "sbx_m", MANY);
    put_sandboxes(&other, "sbx_o", 1);
    server_say(raw, "UPDATE sandbox_token_keys SET api_key_id = '" KEY_2
                    "' WHERE sandbox_id = 'sbx_o000'");
    assert_ok(db_transaction(db, end_two_keys, &left, &err));
    assert_int_equal(left, 0);
    assert_int_equal(epoch_of("sbx_m000"), 1);
    assert_int_equal(epoch_of("sbx_o000"), 1);
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM sandboxes WHERE session_epoch > 0"), 0);
}

static pid_t start_disable(void)
{
    struct error *err = NULL;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid)
        return pid;
    db = server_open(server); /* the other connection is the parent's */
    _exit(credential_disable(db, alice.id, &err) < 0);
}

/* MariaDB refreshes innodb_trx only 0.1 s after the previous query of that table (trx0i_s.cc). */
static void await_lock_wait(MYSQL *watcher)
{
    int64_t until_ms = clock_monotonic_ms() + 4000;
    while (server_ask(watcher, "SELECT COUNT(*) FROM information_schema.innodb_trx"
                               " WHERE trx_state = 'LOCK WAIT'") == 0) {
        assert_true(clock_monotonic_ms() < until_ms);
        clock_sleep_ms(200);
    }
}

TEST_WITH(a_user_is_disabled_with_rows_of_sandboxes_before_rows_of_teams, NULL, remove_all)
{
    int status = -1;
    MYSQL *watcher = server_raw(server);
    put_sandboxes(&acme, "sbx_d", 1);
    say(xasprintf("INSERT INTO logins (id, user_id) VALUES ('lgn_1', '%s')", alice.id));
    say(xasprintf("INSERT INTO api_keys (id, lookup, user_id, login_id)"
                  " VALUES ('" KEY "', 'key', '%s', 'lgn_1')",
                  alice.id));
    server_say(raw, "START TRANSACTION");
    server_say(raw, "SELECT id FROM sandboxes WHERE id = 'sbx_d000' FOR UPDATE");
    pid_t pid = start_disable();
    await_lock_wait(watcher);
    say_to(watcher, xasprintf("SELECT id FROM teams WHERE id = '%s' FOR UPDATE NOWAIT", acme.id));
    server_say(raw, "COMMIT");
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(ask(xasprintf("SELECT COUNT(*) FROM users WHERE id = '%s'"
                                   " AND disabled_at_ms IS NOT NULL",
                                   alice.id)),
                     1);
    mysql_close(watcher);
}

LIST_TEST(every_statement_can_be_prepared, NULL, NULL)

TEST_GROUP(tenants_setup_unchecked, tenants_teardown)
