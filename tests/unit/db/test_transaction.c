/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <pthread.h>

#include "base/clock.h"
#include "unit/db/own_server.h"
#include "unit/db/proxy.h"

static const struct db_statement add_statement = {
    "unit.add", "UPDATE accounts SET balance = balance + ? WHERE id = ?"};
static const struct db_statement insert_statement = {
    "unit.insert", "INSERT INTO accounts (id, balance) VALUES (?, ?)"};
static const struct db_statement lock_statement = {
    "unit.lock", "SELECT balance FROM accounts WHERE id = ? FOR UPDATE"};
static const struct db_statement take_statement = {
    "unit.take", "SELECT id FROM accounts ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"};

static struct db *other;
static MYSQL *raw;

static int make_table(void **state)
{
    raw = server_raw(server);
    server_say(raw, "DROP TABLE IF EXISTS accounts");
    server_say(raw, "CREATE TABLE accounts (id INT UNSIGNED NOT NULL PRIMARY KEY,"
                    " balance BIGINT NOT NULL) ENGINE=InnoDB");
    server_say(raw, "INSERT INTO accounts VALUES (1, 100), (2, 200), (3, 300)");
    db = server_open(server);
    other = server_open_at(server->socket, 2);
    return 0;
}

static int close_all(void **state)
{
    db_close(db);
    db_close(other);
    mysql_close(raw);
    return 0;
}

static long balance(int id)
{
    char sql[80];
    snprintf(sql, sizeof sql, "SELECT balance FROM accounts WHERE id = %d", id);
    return server_ask(raw, sql);
}

static int add(struct db *to, uint64_t id, int64_t amount, struct error **err)
{
    return db_exec(to, &add_statement, DB_ARGS(db_i64(amount), db_u64(id)), NULL, err);
}

/* --- the plain cases --- */

static int move_ten(struct db *in, void *context, struct error **err)
{
    (void)context;
    assert_true(db_in_transaction(in));
    if (add(in, 1, -10, err) < 0)
        return -1;
    assert_int_equal(balance(1), 100); /* nobody else sees it yet */
    return add(in, 2, 10, err);
}

TEST_WITH(commits_both_or_none, make_table, close_all)
{
    error_auto err = NULL;
    assert_ok(db_transaction(db, move_ten, NULL, &err));
    assert_false(db_in_transaction(db));
    assert_int_equal(balance(1), 90);
    assert_int_equal(balance(2), 210);
}

static int give_up(struct db *in, void *context, struct error **err)
{
    int *runs = context;
    ++*runs;
    if (add(in, 1, -10, err) < 0)
        return -1;
    return error_set(err, ERR_SANDBOX_BUSY, "not now");
}

TEST_WITH(rolls_back_what_its_body_refuses, make_table, close_all)
{
    error_auto err = NULL;
    int runs = 0;
    assert_fails_saying(db_transaction(db, give_up, &runs, &err), ERR_SANDBOX_BUSY, "not now");
    assert_int_equal(runs, 1);
    assert_false(db_in_transaction(db));
    assert_int_equal(balance(1), 100);
    /* The connection holds no lock and is ready for the next. */
    assert_ok(add(other, 1, 0, &err));
    assert_ok(db_transaction(db, move_ten, NULL, &err));
}

static int duplicate(struct db *in, void *context, struct error **err)
{
    (void)context;
    if (add(in, 2, 5, err) < 0)
        return -1;
    if (db_exec(in, &insert_statement, DB_ARGS(db_u64(1), db_i64(0)), NULL, err) == 0)
        return 0;
    /* A duplicate ends the statement, not the transaction. */
    assert_int_equal((*err)->code, ERR_DB_DUPLICATE);
    error_clear(err);
    return add(in, 1, 5, err);
}

TEST_WITH(goes_on_after_a_duplicate, make_table, close_all)
{
    error_auto err = NULL;
    assert_ok(db_transaction(db, duplicate, NULL, &err));
    assert_int_equal(balance(1), 105);
    assert_int_equal(balance(2), 205);
}

/* --- SKIP LOCKED --- */

static int take(struct db *in, void *context, struct error **err)
{
    uint64_t *id = context;
    db_rows_auto *rows = NULL;
    if (db_query(in, &take_statement, DB_NO_ARGS, &rows, err) < 0)
        return -1;
    *id = db_rows_next(rows) ? db_get_u64(rows, 0) : 0;
    return 0;
}

static int take_two(struct db *in, void *context, struct error **err)
{
    uint64_t *ids = context;
    if (take(in, &ids[0], err) < 0)
        return -1;
    return db_transaction(other, take, &ids[1], err);
}

TEST_WITH(workers_take_different_rows, make_table, close_all)
{
    error_auto err = NULL;
    uint64_t ids[2] = {0, 0};
    assert_ok(db_transaction(db, take_two, ids, &err));
    assert_int_equal(ids[0], 1);
    assert_int_equal(ids[1], 2);
}

/* --- deadlocks --- */

struct crossing {
    uint64_t first, second;
    int runs;
    pthread_barrier_t *both_hold_one;
};

static int cross(struct db *in, void *context, struct error **err)
{
    struct crossing *crossing = context;
    if (add(in, crossing->first, 1, err) < 0)
        return -1;
    if (crossing->runs++ == 0)
        pthread_barrier_wait(crossing->both_hold_one);
    return add(in, crossing->second, 1, err);
}

static void *cross_in_thread(void *context)
{
    struct error *err = NULL;
    db_transaction(other, cross, context, &err);
    return err;
}

TEST_WITH(runs_again_after_a_deadlock, make_table, close_all)
{
    error_auto err = NULL;
    pthread_barrier_t barrier;
    pthread_t thread;
    void *thread_err;
    pthread_barrier_init(&barrier, NULL, 2);
    struct crossing here = {1, 2, 0, &barrier}, there = {2, 1, 0, &barrier};
    assert_int_equal(pthread_create(&thread, NULL, cross_in_thread, &there), 0);
    assert_ok(db_transaction(db, cross, &here, &err));
    pthread_join(thread, &thread_err);
    assert_null(thread_err);
    pthread_barrier_destroy(&barrier);
    /* One of the two was the victim once; both happened exactly once. */
    assert_int_equal(here.runs + there.runs, 3);
    assert_int_equal(balance(1), 102);
    assert_int_equal(balance(2), 202);
}

static int always_deadlocked(struct db *in, void *context, struct error **err)
{
    (void)in;
    ++*(int *)context;
    return error_set(err, ERR_DB_DEADLOCK, "again");
}

TEST_WITH(does_not_try_forever, make_table, close_all)
{
    error_auto err = NULL;
    int runs = 0;
    int64_t started_ms = clock_monotonic_ms();
    assert_fails_saying(db_transaction(db, always_deadlocked, &runs, &err), ERR_DB_DEADLOCK,
                        "again");
    assert_int_equal(runs, 8);
    assert_true(clock_monotonic_ms() - started_ms < 2000);
    assert_ok(db_transaction(db, move_ten, NULL, &err));
}

/* --- waiting for locks --- */

static int hold_and_add_elsewhere(struct db *in, void *context, struct error **err)
{
    struct error **inner = context;
    if (add(in, 1, 1, err) < 0)
        return -1;
    assert_int_equal(add(other, 1, 1, inner), -1);
    return 0;
}

TEST_WITH(a_lock_wait_ends_before_the_timeout, make_table, close_all)
{
    error_auto err = NULL;
    error_auto inner = NULL;
    int64_t started_ms = clock_monotonic_ms();
    assert_ok(db_transaction(db, hold_and_add_elsewhere, &inner, &err));
    assert_int_equal(inner->code, ERR_DB_DEADLOCK);
    assert_in_range(clock_monotonic_ms() - started_ms, 900, 1990);
    error_clear(&inner);
    assert_ok(add(other, 1, 1, &err)); /* the same connection, and not by a new one */
    assert_int_equal(balance(1), 102);
}

static int lock_wait_in_transaction(struct db *in, void *context, struct error **err)
{
    ++*(int *)context;
    return add(in, 1, 1, err);
}

static int hold_and_transact_elsewhere(struct db *in, void *context, struct error **err)
{
    if (add(in, 1, 1, err) < 0)
        return -1;
    error_auto inner = NULL;
    int64_t started_ms = clock_monotonic_ms();
    assert_int_equal(db_transaction(other, lock_wait_in_transaction, context, &inner), -1);
    assert_int_equal(inner->code, ERR_DB_DEADLOCK);
    /* Two seconds are its timeout: not eight lock waits. */
    assert_in_range(clock_monotonic_ms() - started_ms, 900, 4500);
    return 0;
}

TEST_WITH(lock_waits_together_end_soon, make_table, close_all)
{
    error_auto err = NULL;
    int runs = 0;
    assert_ok(db_transaction(db, hold_and_transact_elsewhere, &runs, &err));
    assert_in_range(runs, 1, 4);
}

/* A body that overlooks the deadlock must not commit its second half. */
static int add_here_while_held(struct db *holder, void *context, struct error **err)
{
    (void)context;
    if (add(holder, 2, 0, err) < 0)
        return -1;
    db_rows_auto *rows = NULL;
    assert_int_equal(db_query(holder, &lock_statement, DB_ARGS(db_u64(2)), &rows, err), 0);
    error_auto overlooked = NULL;
    assert_int_equal(add(other, 2, 7, &overlooked), -1);
    return 0;
}

static int overlook(struct db *in, void *context, struct error **err)
{
    int *runs = context;
    if (add(in, 1, 7, err) < 0)
        return -1;
    if (++*runs == 1) {
        assert_int_equal(db_transaction(db, add_here_while_held, NULL, err), 0);
        error_auto refused = NULL;
        assert_int_equal(add(in, 3, 7, &refused), -1);
        assert_int_equal(refused->code, ERR_DB_DEADLOCK);
        return 0;
    }
    return add(in, 2, 7, err) < 0 ? -1 : add(in, 3, 7, err);
}

TEST_WITH(an_overlooked_deadlock_is_not_committed, make_table, close_all)
{
    error_auto err = NULL;
    int runs = 0;
    assert_ok(db_transaction(other, overlook, &runs, &err));
    assert_int_equal(runs, 2);
    assert_int_equal(balance(1), 107);
    assert_int_equal(balance(2), 207);
    assert_int_equal(balance(3), 307);
}

/* --- lost commits --- */

static int insert_nine(struct db *in, void *context, struct error **err)
{
    (void)context;
    return db_exec(in, &insert_statement, DB_ARGS(db_u64(9), db_i64(900)), NULL, err);
}

static void lost_commit(enum proxy_loss loss, long expected)
{
    error_auto err = NULL;
    char path[128];
    snprintf(path, sizeof path, "%s/proxy", server->directory);
    struct proxy *proxy = proxy_start(path, server->socket);
    struct db *through = server_open_at(path, 10);
    proxy_lose(proxy, loss, "COMMIT");
    assert_fails_saying(db_transaction(through, insert_nine, NULL, &err), ERR_OUTCOME_UNKNOWN,
                        "commit");
    assert_false(db_in_transaction(through));
    assert_int_equal(balance(9), expected);
    /* The worker goes on with a new connection. */
    assert_ok(db_transaction(through, move_ten, NULL, &err));
    db_close(through);
    proxy_stop(proxy);
    unlink(path);
}

TEST_WITH(a_commit_that_arrived_is_unknown, make_table, close_all)
{
    lost_commit(PROXY_LOSE_ANSWER, 900);
}

TEST_WITH(a_commit_that_did_not_arrive_is_unknown, make_table, close_all)
{
    lost_commit(PROXY_LOSE_QUESTION, -1);
}

TEST_GROUP(own_server, server_teardown)
