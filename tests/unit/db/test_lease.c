/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "db/lease.h"
#include "db/lease_board.h"
#include "unit/db/own_server.h"

#define LONG_MS 60000

static const struct lease_table held =
    LEASE_TABLE_OWNED("builds", "id", "lease_until_ms", "state = 'open'");
static const struct lease_table plain =
    LEASE_TABLE("builds", "id", "lease_until_ms", "state = 'open'");

static MYSQL *raw;

static int make_table(void **state)
{
    raw = server_raw(server);
    server_say(raw, "DROP TABLE IF EXISTS builds");
    server_say(raw, "CREATE TABLE builds (id VARCHAR(63) NOT NULL PRIMARY KEY,"
                    " state VARCHAR(16) NOT NULL, lease_owner VARCHAR(64) NULL,"
                    " attempts INT UNSIGNED NOT NULL, lease_until_ms BIGINT NULL) ENGINE=InnoDB");
    server_say(raw, "INSERT INTO builds VALUES ('late', 'open', NULL, 0, 2),"
                    " ('first', 'open', NULL, 0, 1), ('closed', 'closed', NULL, 0, 0),"
                    " ('never', 'open', NULL, 0, NULL)");
    db = server_open(server);
    return 0;
}

static int close_all(void **state)
{
    close_db(state);
    mysql_close(raw);
    return 0;
}

/* Of cloned machines, a process can have the name and the number of another. */
TEST(no_two_owners_have_the_same_name)
{
    char one[LEASE_OWNER_SIZE], other[LEASE_OWNER_SIZE];
    lease_name_owner(one, "sandlot-dispatcher");
    lease_name_owner(other, "sandlot-dispatcher");
    assert_string_not_equal(one, other);
    assert_memory_equal(one, "sandlot-dispatcher/", 19);
}

struct taking {
    const struct lease_table *table;
    const char *owner;
    char key[LEASE_KEY_SIZE];
    unsigned attempts;
};

static int take_body(struct db *in, void *context, struct error **err)
{
    struct taking *taking = context;
    return lease_take(in, taking->table, taking->owner, LONG_MS, taking->key, &taking->attempts,
                      err);
}

static void assert_taken(const struct lease_table *table, const char *owner, const char *key,
                         unsigned attempts)
{
    struct error *err = NULL;
    struct taking taking = {.table = table, .owner = owner};
    assert_ok(db_transaction(db, take_body, &taking, &err));
    assert_string_equal(taking.key, key);
    assert_int_equal(taking.attempts, attempts);
}

TEST_WITH(rows_are_taken_once_longest_free_first, make_table, close_all)
{
    assert_taken(&held, "a", "first", 1);
    assert_taken(&held, "b", "late", 1);
    assert_taken(&held, "c", "", 0);
}

TEST_WITH(a_row_that_is_let_go_is_anybodys, make_table, close_all)
{
    struct error *err = NULL;
    assert_taken(&held, "a", "first", 1);
    assert_ok(lease_defer(db, &held, "first", "b", 0, &err)); /* it is not his: no effect */
    assert_taken(&held, "b", "late", 1);
    assert_ok(lease_defer(db, &held, "first", "a", 0, &err));
    assert_taken(&held, "b", "first", 2);
    assert_fails_saying(lease_renew(db, &held, "first", "a", LONG_MS, &err), ERR_LEASE_LOST,
                        "first");
    assert_ok(lease_renew(db, &held, "first", "b", LONG_MS, &err));
}

TEST_WITH(what_is_closed_is_nobodys, make_table, close_all)
{
    struct error *err = NULL;
    assert_taken(&held, "a", "first", 1);
    server_say(raw, "UPDATE builds SET state = 'closed' WHERE id = 'first'");
    assert_fails_saying(lease_renew(db, &held, "first", "a", LONG_MS, &err), ERR_LEASE_LOST,
                        "first");
}

TEST_WITH(a_table_without_holders, make_table, close_all)
{
    struct error *err = NULL;
    assert_taken(&plain, NULL, "first", 0);
    assert_taken(&plain, NULL, "late", 0);
    assert_taken(&plain, NULL, "", 0);
    assert_ok(lease_defer(db, &plain, "late", NULL, 0, &err));
    assert_taken(&plain, NULL, "late", 0);
}

/* --- while its owner works --- */

TEST_WITH(a_lease_is_renewed_in_time_only, make_table, close_all)
{
    struct error *err = NULL;
    struct lease lease;
    assert_taken(&held, "a", "first", 1);
    lease_keep(&lease, db, &held, "first", "a", LONG_MS);
    server_say(raw, "UPDATE builds SET lease_owner = 'b' WHERE id = 'first'");
    assert_ok(lease_tick(&lease, &err)); /* nothing is due yet */
    lease.renew_at_ms = clock_monotonic_ms();
    assert_fails_saying(lease_tick(&lease, &err), ERR_LEASE_LOST, "first");
    assert_fails_saying(lease_check(&lease, &err), ERR_LEASE_LOST, "first");
}

TEST_WITH(with_the_database_away_it_counts_until_its_time_is_over, make_table, close_all)
{
    struct error *err = NULL;
    struct lease lease;
    assert_taken(&held, "a", "first", 1);
    lease_keep(&lease, db, &held, "first", "a", LONG_MS);
    server_say(raw, "DROP TABLE builds");
    assert_ok(lease_check(&lease, &err));
    lease.lost_at_ms = clock_monotonic_ms();
    assert_fails_saying(lease_check(&lease, &err), ERR_LEASE_LOST, "builds");
}

/* The locked row delays the renewal for a second (innodb_lock_wait_timeout). The lease ends
 * meanwhile. */
TEST_WITH(a_renewal_that_fails_after_the_end_has_lost_it, make_table, close_all)
{
    struct error *err = NULL;
    struct lease lease;
    assert_taken(&held, "a", "first", 1);
    lease_keep(&lease, db, &held, "first", "a", LONG_MS);
    db_close(db);
    db = server_open_at(server->socket, 3);
    lease.db = db;
    server_say(raw, "START TRANSACTION");
    server_say(raw, "UPDATE builds SET state = 'open' WHERE id = 'first'");
    lease.lost_at_ms = clock_monotonic_ms() + 500;
    assert_fails_saying(lease_check(&lease, &err), ERR_LEASE_LOST, "builds.renew");
}

static const struct lease_table of_teams =
    LEASE_TENANTS_OWNED("teams", "builds", "id", "lease_until_ms", "state = 'open'",
                        "SUBSTR(id, 1, 1)", "SUBSTR(id, 3)");

struct process {
    pid_t pid;
    int key; /* the first letter of its row's key comes from here */
};

/* Another process of a board, with a connection of its own. It keeps its row until go ends. */
static struct process start_process(int go[2])
{
    int keys[2];
    assert_int_equal(pipe(keys), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid) {
        close(keys[1]);
        return (struct process){pid, keys[0]};
    }
    struct error *err = NULL;
    struct taking taking = {.table = &of_teams, .owner = "o"};
    char wait;
    db = server_open(server); /* the other connection is the parent's */
    lease_board_join(1, 6, 2);
    if (db_transaction(db, take_body, &taking, &err) < 0)
        _exit(1);
    close(go[1]);
    _exit(write(keys[1], taking.key[0] ? taking.key : "-", 1) != 1 || read(go[0], &wait, 1) < 0);
}

static char taken_by(const struct process *process)
{
    char letter = 0;
    assert_int_equal(read(process->key, &letter, 1), 1);
    close(process->key);
    return letter;
}

/* A key is a team, a number and a user. */
static void add_row(const char *key, size_t due_ms)
{
    char sql[96];
    snprintf(sql, sizeof sql, "INSERT INTO builds VALUES ('%s', 'open', NULL, 0, %zu)", key,
             due_ms);
    server_say(raw, sql);
}

static int fail_body(struct db *in, void *context, struct error **err)
{
    return take_body(in, context, err) < 0 ? -1 : error_set(err, ERR_INTERNAL, "it stays due");
}

TEST_WITH(a_row_whose_transaction_failed_keeps_no_other_waiting, make_table, close_all)
{
    struct error *err = NULL;
    struct taking taking = {.table = &of_teams, .owner = "o"};
    server_say(raw, "DELETE FROM builds");
    add_row("r1", 1);
    add_row("r2", 2);
    assert_fails_saying(db_transaction(db, fail_body, &taking, &err), ERR_INTERNAL, "stays due");
    assert_string_equal(taking.key, "r1");
    assert_taken(&of_teams, "o", "r2", 1);
    assert_taken(&of_teams, "o", "", 0);
    clock_sleep_ms(1100);
    assert_taken(&of_teams, "o", "r1", 1);
}

TEST_WITH(a_team_has_its_share_of_the_processes, make_table, close_all)
{
    static const struct {
        const char *adds;
        char takes;
    } steps[] = {
        {"a1", 'a'},  {"a2", 'a'},  {"a3", '-'},  /* two processes are a team's share */
        {"b1x", 'b'}, {"c1x", 'c'}, {"d1x", '-'}, /* and a user's in all teams */
        {"e1", 'e'},  {"e2", '-'},  {"f1", 'f'},  /* the last one is for a team without any */
    };
    struct error *err = NULL;
    struct taking taking = {.table = &of_teams, .owner = "o"};
    int go[2];
    server_say(raw, "DELETE FROM builds");
    assert_int_equal(pipe(go), 0);
    assert_int_equal(lease_board_open(), 0);
    struct process processes[ARRAY_SIZE(steps)];
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        add_row(steps[i].adds, i);
        processes[i] = start_process(go);
        assert_int_equal(taken_by(&processes[i]), steps[i].takes);
    }
    close(go[1]);
    close(go[0]);
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
        waitpid(processes[i].pid, NULL, 0);
    assert_ok(db_transaction(db, take_body, &taking, &err)); /* outside: no bound */
    assert_int_equal(taking.key[0], 'a');
}

TEST_GROUP(own_server, server_teardown)
