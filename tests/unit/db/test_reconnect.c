/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happens when the server, or the way to it, dies: before, during and between statements. */
#include "unit/unit.h"

#include <pthread.h>
#include <signal.h>

#include "base/clock.h"
#include "unit/db/own_server.h"
#include "unit/db/proxy.h"

static const struct db_statement insert_statement = {"unit.insert",
                                                     "INSERT INTO notes (id, text) VALUES (?, ?)"};
static const struct db_statement slow_insert_statement = {
    "unit.slow_insert", "INSERT INTO notes (id, text) SELECT ?, CONCAT('slept', SLEEP(20))"};
static const struct db_statement slow_read_statement = {"unit.slow_read",
                                                        "SELECT COUNT(*), SLEEP(?) FROM notes"};
static const struct db_statement read_statement = {"unit.read",
                                                   "SELECT COUNT(*), MAX(?) FROM notes"};
static const struct db_statement id_statement = {"unit.id", "SELECT CONNECTION_ID()"};
static const struct db_statement short_idle_statement = {"unit.short_idle",
                                                         "SET SESSION wait_timeout = 1"};

static int make_table(void **state)
{
    server_ensure(server);
    MYSQL *raw = server_raw(server);
    server_say(raw, "DROP TABLE IF EXISTS notes");
    server_say(raw, "CREATE TABLE notes (id INT UNSIGNED NOT NULL PRIMARY KEY,"
                    " text VARCHAR(64) NOT NULL) ENGINE=InnoDB");
    mysql_close(raw);
    db = server_open(server);
    return 0;
}

static int insert(struct db *to, uint64_t id, struct error **err)
{
    return db_exec(to, &insert_statement, DB_ARGS(db_u64(id), db_text("note-mark")), NULL, err);
}

static long notes(void)
{
    MYSQL *raw = server_raw(server);
    long count = server_ask(raw, "SELECT COUNT(*) FROM notes");
    mysql_close(raw);
    return count;
}

static unsigned long connection_id(void)
{
    error_auto err = NULL;
    db_rows_auto *rows = NULL;
    assert_ok(db_query(db, &id_statement, DB_NO_ARGS, &rows, &err));
    assert_true(db_rows_next(rows));
    return db_get_u64(rows, 0);
}

/* --- somebody who waits until a statement runs, and then acts --- */

struct watcher {
    unsigned long id; /* of the connection that is watched */
    bool kill_server; /* else only the connection */
    pthread_t thread;
};

static void *watch(void *context)
{
    struct watcher *watcher = context;
    char sql[64];
    MYSQL *raw = server_raw(server);
    server_wait_for(raw, watcher->id, "SLEEP");
    snprintf(sql, sizeof sql, "KILL %lu", watcher->id);
    if (watcher->kill_server)
        kill(server->pid, SIGKILL);
    else
        server_say(raw, sql);
    mysql_close(raw);
    return NULL;
}

static void start_watcher(struct watcher *watcher, bool kill_server)
{
    watcher->id = connection_id();
    watcher->kill_server = kill_server;
    assert_int_equal(pthread_create(&watcher->thread, NULL, watch, watcher), 0);
}

/* --- between statements --- */

TEST_WITH(a_restart_in_between_goes_unnoticed, make_table, close_db)
{
    error_auto err = NULL;
    assert_ok(insert(db, 1, &err)); /* prepared on the first server */
    server_kill(server);
    server_start(server);
    assert_ok(insert(db, 2, &err)); /* a write, and still certain */
    server_kill(server);
    server_start(server);
    db_rows_auto *rows = NULL;
    assert_ok(db_query(db, &read_statement, DB_ARGS(db_u64(5)), &rows, &err));
    assert_true(db_rows_next(rows));
    assert_int_equal(db_get_u64(rows, 0), 2);
}

TEST_WITH(a_dead_server_is_unavailable_at_once, make_table, close_db)
{
    error_auto err = NULL;
    db_rows_auto *rows = NULL;
    struct db *none = NULL;
    server_kill(server);
    int64_t started_ms = clock_monotonic_ms();
    assert_fails_saying(insert(db, 1, &err), ERR_DB_UNAVAILABLE, "cannot connect");
    assert_fails_saying(insert(db, 1, &err), ERR_DB_UNAVAILABLE, "unit.insert");
    assert_fails_saying(db_query(db, &read_statement, DB_ARGS(db_u64(5)), &rows, &err),
                        ERR_DB_UNAVAILABLE, "cannot connect");
    const struct db_options options = {
        .socket = server->socket, .name = "unit", .user = "root", .password = "hunter2"};
    assert_fails(db_open(&options, &none, &err), ERR_DB_UNAVAILABLE);
    assert_null(strstr(err->message, "hunter2"));
    error_clear(&err);
    assert_true(clock_monotonic_ms() - started_ms < 1000);
    assert_null(none);
    server_start(server);
    assert_ok(insert(db, 1, &err));
    assert_int_equal(notes(), 1);
}

TEST_WITH(an_idle_connection_may_be_closed, make_table, close_db)
{
    error_auto err = NULL;
    assert_ok(db_exec(db, &short_idle_statement, DB_NO_ARGS, NULL, &err));
    unsigned long before = connection_id();
    clock_sleep_ms(2500);
    assert_ok(insert(db, 1, &err));
    assert_true(connection_id() != before);
    assert_int_equal(notes(), 1);
}

/* --- under a statement --- */

TEST_WITH(a_write_under_a_crash_is_unknown, make_table, close_db)
{
    error_auto err = NULL;
    struct watcher watcher;
    start_watcher(&watcher, true);
    assert_fails_saying(db_exec(db, &slow_insert_statement, DB_ARGS(db_u64(1)), NULL, &err),
                        ERR_OUTCOME_UNKNOWN, "unit.slow_insert");
    pthread_join(watcher.thread, NULL);
    server_kill(server);
    server_start(server);
    assert_int_equal(notes(), 0);
    assert_ok(insert(db, 1, &err));
}

TEST_WITH(a_read_under_a_crash_is_unavailable, make_table, close_db)
{
    error_auto err = NULL;
    db_rows_auto *rows = NULL;
    struct watcher watcher;
    assert_ok(insert(db, 1, &err));
    start_watcher(&watcher, true);
    assert_fails_saying(db_query(db, &slow_read_statement, DB_ARGS(db_u64(20)), &rows, &err),
                        ERR_DB_UNAVAILABLE, "unit.slow_read");
    pthread_join(watcher.thread, NULL);
    server_kill(server);
}

TEST_WITH(a_read_is_sent_again, make_table, close_db)
{
    error_auto err = NULL;
    db_rows_auto *rows = NULL;
    struct watcher watcher;
    assert_ok(insert(db, 1, &err));
    start_watcher(&watcher, false);
    int64_t started_ms = clock_monotonic_ms();
    assert_ok(db_query(db, &slow_read_statement, DB_ARGS(db_u64(2)), &rows, &err));
    pthread_join(watcher.thread, NULL);
    assert_true(clock_monotonic_ms() - started_ms >= 2000); /* the second one slept to its end */
    assert_true(db_rows_next(rows));
    assert_int_equal(db_get_u64(rows, 0), 1);
    assert_int_equal(db_get_u64(rows, 1), 0);
    assert_true(connection_id() != watcher.id);
}

TEST_WITH(a_killed_write_is_not_sent_again, make_table, close_db)
{
    error_auto err = NULL;
    struct watcher watcher;
    start_watcher(&watcher, false);
    assert_int_equal(db_exec(db, &slow_insert_statement, DB_ARGS(db_u64(1)), NULL, &err), -1);
    assert_true(err->code == ERR_OUTCOME_UNKNOWN || err->code == ERR_DB_UNAVAILABLE);
    pthread_join(watcher.thread, NULL);
    assert_true(notes() <= 1); /* Oracle's ends the sleep only, and inserts */
}

TEST_WITH(a_silent_server_costs_one_timeout, make_table, close_db)
{
    error_auto err = NULL;
    db_rows_auto *rows = NULL;
    struct db *hasty = server_open_at(server->socket, 1);
    assert_ok(insert(db, 1, &err));
    int64_t started_ms = clock_monotonic_ms();
    assert_fails(db_query(hasty, &slow_read_statement, DB_ARGS(db_u64(5)), &rows, &err),
                 ERR_DB_UNAVAILABLE);
    error_clear(&err);
    assert_in_range(clock_monotonic_ms() - started_ms, 900, 1900);
    assert_fails(db_exec(hasty, &slow_insert_statement, DB_ARGS(db_u64(2)), NULL, &err),
                 ERR_OUTCOME_UNKNOWN);
    error_clear(&err);
    db_close(hasty);
    server_kill(server); /* the insert still sleeps in it */
}

/* --- answers and questions that get lost --- */

struct lossy {
    struct proxy *proxy;
    struct db *db;
    char path[128];
};

static struct lossy lossy_open(void)
{
    struct lossy lossy;
    snprintf(lossy.path, sizeof lossy.path, "%s/proxy", server->directory);
    lossy.proxy = proxy_start(lossy.path, server->socket);
    lossy.db = server_open_at(lossy.path, 10);
    return lossy;
}

static void lossy_close(struct lossy *lossy)
{
    db_close(lossy->db);
    proxy_stop(lossy->proxy);
    unlink(lossy->path);
}

TEST_WITH(a_write_whose_answer_is_lost_is_unknown, make_table, close_db)
{
    error_auto err = NULL;
    struct lossy lossy = lossy_open();
    proxy_lose(lossy.proxy, PROXY_LOSE_ANSWER, "note-mark");
    assert_fails_saying(insert(lossy.db, 1, &err), ERR_OUTCOME_UNKNOWN, "unit.insert");
    assert_int_equal(notes(), 1); /* it did happen, once */
    proxy_lose(lossy.proxy, PROXY_LOSE_QUESTION, "note-mark");
    assert_fails_saying(insert(lossy.db, 2, &err), ERR_OUTCOME_UNKNOWN, "unit.insert");
    assert_int_equal(notes(), 1); /* it did not */
    lossy_close(&lossy);
}

TEST_WITH(a_write_that_was_not_prepared_did_not_happen, make_table, close_db)
{
    error_auto err = NULL;
    struct lossy lossy = lossy_open();
    proxy_lose(lossy.proxy, PROXY_LOSE_ANSWER, "INSERT INTO notes");
    assert_ok(insert(lossy.db, 1, &err)); /* prepared again on a second connection */
    assert_int_equal(notes(), 1);
    lossy_close(&lossy);
}

TEST_WITH(a_read_whose_answer_is_lost_is_sent_again, make_table, close_db)
{
    error_auto err = NULL;
    db_rows_auto *rows = NULL;
    struct lossy lossy = lossy_open();
    assert_ok(insert(lossy.db, 1, &err));
    proxy_lose(lossy.proxy, PROXY_LOSE_ANSWER, "read-mark");
    assert_ok(db_query(lossy.db, &read_statement, DB_ARGS(db_text("read-mark")), &rows, &err));
    assert_true(db_rows_next(rows));
    assert_int_equal(db_get_u64(rows, 0), 1);
    lossy_close(&lossy);
}

/* --- inside a transaction --- */

static int insert_around_a_crash(struct db *in, void *context, struct error **err)
{
    int *runs = context;
    ++*runs;
    if (insert(in, 1, err) < 0)
        return -1;
    server_kill(server);
    server_start(server);
    error_auto first = NULL;
    assert_int_equal(insert(in, 2, &first), -1);
    assert_int_equal(first->code, ERR_DB_UNAVAILABLE);
    assert_true(db_in_transaction(in));
    /* Still refused: on a new connection it would be a write of its own. */
    return insert(in, 3, err);
}

TEST_WITH(a_transaction_cut_off_did_not_happen, make_table, close_db)
{
    error_auto err = NULL;
    int runs = 0;
    assert_fails_saying(db_transaction(db, insert_around_a_crash, &runs, &err), ERR_DB_UNAVAILABLE,
                        "lost");
    assert_int_equal(runs, 1);
    assert_false(db_in_transaction(db));
    assert_int_equal(notes(), 0);
    assert_ok(insert(db, 1, &err));
}

static int insert_and_crash(struct db *in, void *context, struct error **err)
{
    (void)context;
    if (insert(in, 1, err) < 0)
        return -1;
    server_kill(server);
    return 0;
}

TEST_WITH(a_commit_that_was_never_sent_did_not_happen, make_table, close_db)
{
    error_auto err = NULL;
    assert_fails_saying(db_transaction(db, insert_and_crash, NULL, &err), ERR_DB_UNAVAILABLE,
                        "before the commit");
    assert_fails_saying(db_transaction(db, insert_and_crash, NULL, &err), ERR_DB_UNAVAILABLE,
                        "cannot connect");
    server_start(server);
    assert_int_equal(notes(), 0);
}

static int insert_one(struct db *in, void *context, struct error **err)
{
    ++*(int *)context;
    return insert(in, 1, err);
}

TEST_WITH(a_transaction_may_begin_on_a_new_connection, make_table, close_db)
{
    error_auto err = NULL;
    int runs = 0;
    server_kill(server);
    server_start(server);
    assert_ok(db_transaction(db, insert_one, &runs, &err));
    assert_int_equal(runs, 1);
    assert_int_equal(notes(), 1);
}

TEST_WITH(a_lost_beginning_is_said_again, make_table, close_db)
{
    error_auto err = NULL;
    int runs = 0;
    struct lossy lossy = lossy_open();
    proxy_lose(lossy.proxy, PROXY_LOSE_ANSWER, "START TRANSACTION");
    assert_ok(db_transaction(lossy.db, insert_one, &runs, &err));
    assert_int_equal(runs, 1);
    assert_int_equal(notes(), 1);
    lossy_close(&lossy);
}

TEST_GROUP(own_server, server_teardown)
