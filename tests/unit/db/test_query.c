/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "unit/db/own_server.h"

static const struct db_statement insert_statement = {
    "unit.insert",
    "INSERT INTO things (id, small, big, name, note, data) VALUES (?, ?, ?, ?, ?, ?)"};
static const struct db_statement get_statement = {
    "unit.get", "SELECT id, small, big, name, note, data, on_at FROM things WHERE id = ?"};
static const struct db_statement update_statement = {"unit.update",
                                                     "UPDATE things SET note = ? WHERE id >= ?"};
static const struct db_statement count_statement = {"unit.count", "SELECT COUNT(*) FROM things"};
static const struct db_statement variables_statement = {
    "unit.variables", "SELECT @@session.sql_mode, @@session.time_zone, @@session.autocommit,"
                      " @@session.collation_connection, @@session.innodb_lock_wait_timeout,"
                      " UNIX_TIMESTAMP('1970-01-02 00:00:00')"
                      /* each server skips the other's comment */
                      " /*M!100100 , @@session.max_statement_time * 1000 */"
                      " /*!80000 , @@session.max_execution_time */"};

static int make_table(void **state)
{
    MYSQL *raw = server_raw(server);
    server_say(raw, "DROP TABLE IF EXISTS things");
    server_say(raw, "CREATE TABLE things ("
                    " id BIGINT UNSIGNED NOT NULL PRIMARY KEY,"
                    " small TINYINT NOT NULL, big BIGINT NULL,"
                    " name VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,"
                    " note MEDIUMTEXT NULL, data MEDIUMBLOB NULL, on_at DATETIME NULL,"
                    " UNIQUE KEY things_name (name)"
                    ") ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
    mysql_close(raw);
    db = server_open(server);
    return 0;
}

static void insert(uint64_t id, const char *name)
{
    error_auto err = NULL;
    assert_ok(
        db_exec(db, &insert_statement,
                DB_ARGS(db_u64(id), db_i64(-1), db_null(), db_text(name), db_null(), db_null()),
                NULL, &err));
}

TEST_WITH(gives_back_what_it_took, make_table, close_db)
{
    static const char blob[] = "\0\x01\xff\x00zero";
    static const char note[] = "na\xc3\xafve \xf0\x9f\x98\x80 'quoted' \"and\" \\ more";
    error_auto err = NULL;
    uint64_t affected = 0;
    assert_ok(db_exec(db, &insert_statement,
                      DB_ARGS(db_u64(UINT64_MAX), db_i64(-128), db_i64(INT64_MIN), db_text("a"),
                              db_text(note), db_blob(blob, sizeof blob)),
                      &affected, &err));
    assert_int_equal(affected, 1);

    db_rows_auto *rows = NULL;
    assert_ok(db_query(db, &get_statement, DB_ARGS(db_u64(UINT64_MAX)), &rows, &err));
    assert_true(db_rows_next(rows));
    assert_true(db_get_u64(rows, 0) == UINT64_MAX);
    assert_int_equal(db_get_i64(rows, 1), -128);
    assert_true(db_get_i64(rows, 2) == INT64_MIN);
    assert_true(db_get_bool(rows, 2));
    assert_string_equal(db_get_text(rows, 3), "a");
    assert_string_equal(db_get_text(rows, 4), note);
    size_t size;
    const void *data = db_get_blob(rows, 5, &size);
    assert_int_equal(size, sizeof blob);
    assert_memory_equal(data, blob, sizeof blob);
    assert_true(db_is_null(rows, 6));
    assert_false(db_rows_next(rows));
    assert_false(db_rows_next(rows));
}

TEST_WITH(reads_null_as_nothing, make_table, close_db)
{
    error_auto err = NULL;
    db_rows_auto *rows = NULL;
    insert(1, "a");
    assert_ok(db_query(db, &get_statement, DB_ARGS(db_u64(1)), &rows, &err));
    assert_true(db_rows_next(rows));
    for (unsigned column = 4; column < 7; column++)
        assert_true(db_is_null(rows, column));
    assert_false(db_is_null(rows, 1));
    size_t size = 7;
    assert_int_equal(db_get_i64(rows, 2), 0);
    assert_false(db_get_bool(rows, 2));
    assert_string_equal(db_get_text(rows, 4), "");
    db_get_blob(rows, 5, &size);
    assert_int_equal(size, 0);
}

TEST_WITH(tells_empty_from_null, make_table, close_db)
{
    error_auto err = NULL;
    db_rows_auto *rows = NULL;
    assert_ok(db_exec(
        db, &insert_statement,
        DB_ARGS(db_u64(1), db_i64(0), db_null(), db_text(""), db_text(""), db_blob(NULL, 0)), NULL,
        &err));
    assert_ok(db_query(db, &get_statement, DB_ARGS(db_u64(1)), &rows, &err));
    assert_true(db_rows_next(rows));
    assert_false(db_is_null(rows, 4));
    assert_false(db_is_null(rows, 5));
    assert_string_equal(db_get_text(rows, 4), "");
}

/* The longest value of a result sizes the buffers: none may be cut, short ones keep their size. */
TEST_WITH(never_cuts_a_value, make_table, close_db)
{
    static const struct db_statement all_statement = {"unit.all",
                                                      "SELECT note, data FROM things ORDER BY id"};
    static const size_t sizes[] = {0, 1, 255, 256, 65535, 65536, 1000000, 3};
    error_auto err = NULL;
    char *text = xmalloc(1000001);
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        memset(text, 'a' + (int)i, sizes[i]);
        text[sizes[i]] = '\0';
        char name[16];
        snprintf(name, sizeof name, "n%zu", i);
        assert_ok(db_exec(db, &insert_statement,
                          DB_ARGS(db_u64(i), db_i64(0), db_null(), db_text(name), db_text(text),
                                  db_blob(text, sizes[i])),
                          NULL, &err));
    }
    db_rows_auto *rows = NULL;
    assert_ok(db_query(db, &all_statement, DB_NO_ARGS, &rows, &err));
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        size_t size;
        assert_true(db_rows_next(rows));
        const char *note = db_get_text(rows, 0), *data = db_get_blob(rows, 1, &size);
        assert_int_equal(strlen(note), sizes[i]);
        assert_int_equal(size, sizes[i]);
        for (size_t j = 0; j < size; j++)
            if (note[j] != 'a' + (int)i || data[j] != 'a' + (int)i)
                fail_msg("row %zu is wrong at %zu", i, j);
    }
    assert_false(db_rows_next(rows));
    free(text);
}

TEST_WITH(counts_matched_rows, make_table, close_db)
{
    error_auto err = NULL;
    uint64_t affected;
    for (uint64_t id = 1; id <= 3; id++)
        insert(id, (const char *[]){"", "a", "b", "c"}[id]);
    assert_ok(db_exec(db, &update_statement, DB_ARGS(db_text("x"), db_u64(2)), &affected, &err));
    assert_int_equal(affected, 2);
    /* Matched, though nothing changes: a conditional update tells "not there" from "same". */
    assert_ok(db_exec(db, &update_statement, DB_ARGS(db_text("x"), db_u64(2)), &affected, &err));
    assert_int_equal(affected, 2);
    assert_ok(db_exec(db, &update_statement, DB_ARGS(db_text("x"), db_u64(9)), &affected, &err));
    assert_int_equal(affected, 0);
}

TEST_WITH(reads_sums_and_other_types, make_table, close_db)
{
    static const struct db_statement sums_statement = {
        "unit.sums",
        "SELECT SUM(id), COUNT(*), MAX(small), AVG(id) * 0 + 2.50, COALESCE(SUM(big), -7),"
        " SUM(id) > 3, CAST('2026-11-21 10:05:00' AS DATETIME), 1.5e0, NULL,"
        " GROUP_CONCAT(name ORDER BY id), 18446744073709551615"
        " FROM things"};
    error_auto err = NULL;
    db_rows_auto *rows = NULL;
    insert(1, "a");
    insert(3, "b");
    assert_ok(db_query(db, &sums_statement, DB_NO_ARGS, &rows, &err));
    assert_true(db_rows_next(rows));
    assert_int_equal(db_get_u64(rows, 0), 4);
    assert_int_equal(db_get_i64(rows, 0), 4);
    assert_int_equal(db_get_u64(rows, 1), 2);
    assert_int_equal(db_get_i64(rows, 2), -1);
    assert_non_null(strstr(db_get_text(rows, 3), "2.50"));
    assert_int_equal(db_get_i64(rows, 4), -7);
    assert_true(db_get_bool(rows, 5));
    assert_string_equal(db_get_text(rows, 6), "2026-11-21 10:05:00");
    assert_string_equal(db_get_text(rows, 7), "1.5");
    assert_true(db_is_null(rows, 8));
    assert_string_equal(db_get_text(rows, 9), "a,b");
    assert_true(db_get_u64(rows, 10) == UINT64_MAX);
}

TEST_WITH(tells_whether_there_is_a_row, make_table, close_db)
{
    error_auto err = NULL;
    bool found = false;
    insert(1, "a");
    assert_ok(db_query_finds(db, &get_statement, DB_ARGS(db_u64(1)), &found, &err));
    assert_true(found);
    assert_ok(db_query_finds(db, &get_statement, DB_ARGS(db_u64(2)), &found, &err));
    assert_false(found);
    assert_fails_saying(db_query_finds(db, &get_statement, DB_NO_ARGS, &found, &err), ERR_INTERNAL,
                        "unit.get");
}

TEST_WITH(names_the_key_of_a_duplicate_but_not_its_value, make_table, close_db)
{
    error_auto err = NULL;
    insert(1, "secret-name");
    assert_fails(db_exec(db, &insert_statement,
                         DB_ARGS(db_u64(2), db_i64(0), db_null(), db_text("secret-name"), db_null(),
                                 db_null()),
                         NULL, &err),
                 ERR_DB_DUPLICATE);
    assert_non_null(strstr(err->message, "things_name"));
    assert_null(strstr(err->message, "secret-name"));
    error_clear(&err);
    assert_fails_saying(
        db_exec(db, &insert_statement,
                DB_ARGS(db_u64(1), db_i64(0), db_null(), db_text("b"), db_null(), db_null()), NULL,
                &err),
        ERR_DB_DUPLICATE, "PRIMARY");
}

TEST_WITH(is_strict, make_table, close_db)
{
    error_auto err = NULL;
    assert_fails_saying(
        db_exec(db, &insert_statement,
                DB_ARGS(db_u64(1), db_i64(128), db_null(), db_text("a"), db_null(), db_null()),
                NULL, &err),
        ERR_INTERNAL, "unit.insert");
    assert_fails_saying(db_exec(db, &insert_statement,
                                DB_ARGS(db_u64(1), db_i64(0), db_null(),
                                        db_text("seventeen letters"), db_null(), db_null()),
                                NULL, &err),
                        ERR_INTERNAL, "too long");
    assert_fails_saying(
        db_exec(db, &insert_statement,
                DB_ARGS(db_u64(1), db_i64(0), db_null(), db_text("\xc3\xa9"), db_null(), db_null()),
                NULL, &err),
        ERR_INTERNAL, "unit.insert");
    assert_fails_saying(
        db_exec(db, &insert_statement,
                DB_ARGS(db_u64(1), db_i64(0), db_null(), db_null(), db_null(), db_null()), NULL,
                &err),
        ERR_INTERNAL, "unit.insert");
    /* The connection is as good as before. */
    insert(1, "a");
}

TEST_WITH(sets_its_session, make_table, close_db)
{
    error_auto err = NULL;
    db_rows_auto *rows = NULL;
    assert_ok(db_query(db, &variables_statement, DB_NO_ARGS, &rows, &err));
    assert_true(db_rows_next(rows));
    assert_non_null(strstr(db_get_text(rows, 0), "STRICT_ALL_TABLES"));
    assert_non_null(strstr(db_get_text(rows, 0), "ONLY_FULL_GROUP_BY"));
    assert_string_equal(db_get_text(rows, 1), "+00:00");
    assert_int_equal(db_get_u64(rows, 2), 1);
    assert_string_equal(db_get_text(rows, 3), "utf8mb4_bin");
    assert_int_equal(db_get_u64(rows, 4), 5);
    assert_int_equal(db_get_i64(rows, 5), 86400);
    /* The server ends a statement soon after its client has given up. */
    assert_int_equal(atoi(db_get_text(rows, 6)), 11000);
}

/* What EXPLAIN says in the column "type". */
static void assert_access_is(MYSQL_RES *plan, const char *type)
{
    MYSQL_ROW row = mysql_fetch_row(plan);
    unsigned at = 0;
    assert_non_null(row);
    while (strcmp(mysql_fetch_field_direct(plan, at)->name, "type") != 0)
        at++;
    assert_string_equal(row[at], type);
    mysql_free_result(plan);
}

/* The server does not compare an ascii column with a text that is not ascii; see db_text(). */
TEST_WITH(looks_up_in_ascii, make_table, close_db)
{
    static const struct db_statement by_name_statement = {"unit.by_name",
                                                          "SELECT id FROM things WHERE name = ?"};
    error_auto err = NULL;
    db_rows_auto *none = NULL;
    db_rows_auto *one = NULL;
    for (uint64_t id = 1; id < 50; id++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", (int)id);
        insert(id, name);
    }
    static const struct db_statement rename_statement = {
        "unit.rename", "UPDATE things SET big = 1 WHERE name = ?"};
    assert_fails(db_query(db, &by_name_statement, DB_ARGS(db_text("n\xc3\xa9")), &none, &err),
                 ERR_NOT_FOUND);
    error_clear(&err);
    assert_fails(db_exec(db, &rename_statement, DB_ARGS(db_text("n\xc3\xa9")), NULL, &err),
                 ERR_NOT_FOUND);
    error_clear(&err);
    assert_ok(db_query(db, &by_name_statement, DB_ARGS(db_text("n7")), &one, &err));
    assert_true(db_rows_next(one));
    assert_int_equal(db_get_u64(one, 0), 7);
    /* And the index is used although the argument is utf8mb4. */
    MYSQL *raw = server_raw(server);
    server_say(raw, "SET NAMES utf8mb4");
    assert_int_equal(
        mysql_query(
            raw, "EXPLAIN /*!80000 FORMAT=TRADITIONAL */ SELECT id FROM things WHERE name = 'n7'"),
        0);
    assert_access_is(mysql_store_result(raw), "const");
    mysql_close(raw);
}

TEST_WITH(prepares_once, make_table, close_db)
{
    error_auto err = NULL;
    MYSQL *raw = server_raw(server);
    for (int i = 0; i < 50; i++) {
        db_rows_auto *rows = NULL;
        assert_ok(db_query(db, &count_statement, DB_NO_ARGS, &rows, &err));
    }
    assert_int_equal(mysql_query(raw, "SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'"), 0);
    MYSQL_RES *shown = mysql_store_result(raw);
    assert_string_equal(mysql_fetch_row(shown)[1], "1");
    mysql_free_result(shown);
    mysql_close(raw);
}

DB_STATEMENT(wrong_statement) = {"unit.wrong", "SELECT x FROM nowhere"};

TEST_WITH(checks_statements, make_table, close_db)
{
    error_auto err = NULL;
    assert_fails_saying(db_check_statements(db, &err), ERR_INTERNAL, "unit.wrong");
    insert(1, "a");
}

TEST_WITH(refuses_a_call_that_does_not_fit_its_statement, make_table, close_db)
{
    error_auto err = NULL;
    db_rows_auto *rows = NULL;
    assert_fails_saying(db_exec(db, &update_statement, DB_ARGS(db_text("x")), NULL, &err),
                        ERR_INTERNAL, "needs 2 arguments and got 1");
    assert_fails_saying(db_exec(db, &count_statement, DB_NO_ARGS, NULL, &err), ERR_INTERNAL,
                        "has result rows");
    insert(1, "a");
    assert_fails_saying(
        db_query(db, &update_statement, DB_ARGS(db_text("x"), db_u64(0)), &rows, &err),
        ERR_INTERNAL, "no result rows");
    assert_null(rows);
    assert_ok(db_query(db, &get_statement, DB_ARGS(db_u64(1)), &rows, &err));
    assert_true(db_rows_next(rows));
    assert_true(db_is_null(rows, 4)); /* the update was not run */
}

/* Asking a column for what it is not is a defect: the worker ends at once. */
static bool aborts(void (*read)(const struct db_rows *rows), const struct db_rows *rows)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL); /* the sanitizers would report it */
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        read(rows);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void text_as_number(const struct db_rows *rows)
{
    db_get_i64(rows, 3);
}

static void number_as_text(const struct db_rows *rows)
{
    db_get_text(rows, 1);
}

static void negative_as_unsigned(const struct db_rows *rows)
{
    db_get_u64(rows, 1);
}

static void too_large_for_a_sign(const struct db_rows *rows)
{
    db_get_i64(rows, 0);
}

static void beyond_the_columns(const struct db_rows *rows)
{
    db_get_i64(rows, 7);
}

static const char *const names[] = {"b", "a"};

static void a_name_of_no_table(const struct db_rows *rows)
{
    db_get_name(rows, 3, names, 1);
}

static void fitting(const struct db_rows *rows)
{
    db_get_i64(rows, 1);
    db_get_u64(rows, 0);
    db_get_text(rows, 3);
}

TEST_WITH(ends_at_a_defect, make_table, close_db)
{
    error_auto err = NULL;
    db_rows_auto *rows = NULL;
    insert(UINT64_MAX, "a");
    assert_ok(db_query(db, &get_statement, DB_ARGS(db_u64(UINT64_MAX)), &rows, &err));
    assert_true(aborts(fitting, rows)); /* before the first row */
    assert_true(db_rows_next(rows));
    assert_false(aborts(fitting, rows));
    assert_int_equal(db_get_name(rows, 3, names, 2), 1);
    assert_true(aborts(a_name_of_no_table, rows));
    assert_true(aborts(text_as_number, rows));
    assert_true(aborts(number_as_text, rows));
    assert_true(aborts(negative_as_unsigned, rows));
    assert_true(aborts(too_large_for_a_sign, rows));
    assert_true(aborts(beyond_the_columns, rows));
    assert_false(db_rows_next(rows));
    assert_true(aborts(fitting, rows)); /* behind the last one */
}

TEST_WITH(keeps_rows_while_others_are_read, make_table, close_db)
{
    error_auto err = NULL;
    db_rows_auto *first = NULL;
    db_rows_auto *second = NULL;
    insert(1, "a");
    insert(2, "b");
    assert_ok(db_query(db, &get_statement, DB_ARGS(db_u64(1)), &first, &err));
    assert_ok(db_query(db, &get_statement, DB_ARGS(db_u64(2)), &second, &err));
    assert_true(db_rows_next(first) && db_rows_next(second));
    assert_string_equal(db_get_text(first, 3), "a");
    assert_string_equal(db_get_text(second, 3), "b");
}

/* --- what errors of a server mean --- */

/* Whoever inserts is told the error with this number and words. */
static void answer_with(unsigned code, const char *message)
{
    MYSQL *raw = server_raw(server);
    autofree char *sql =
        xasprintf("CREATE TRIGGER refusal BEFORE INSERT ON things FOR EACH ROW BEGIN"
                  " SET @runs = COALESCE(@runs, 0) + 1;"
                  " SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = %u, MESSAGE_TEXT = '%s'; END",
                  code, message);
    server_say(raw, "DROP TRIGGER IF EXISTS refusal");
    server_say(raw, sql);
    mysql_close(raw);
}

static uint64_t runs_of_the_connection(void)
{
    static const struct db_statement runs_statement = {
        "unit.runs", "SELECT CAST(COALESCE(@runs, 0) AS UNSIGNED)"};
    error_auto err = NULL;
    db_rows_auto *rows = NULL;
    assert_ok(db_query(db, &runs_statement, DB_NO_ARGS, &rows, &err));
    assert_true(db_rows_next(rows));
    return db_get_u64(rows, 0);
}

static int insert_one(struct db *of, void *context, struct error **err)
{
    (void)context;
    return db_exec(of, &insert_statement,
                   DB_ARGS(db_u64(1), db_i64(1), db_null(), db_text("a"), db_null(), db_null()),
                   NULL, err);
}

TEST_WITH(an_error_has_one_meaning, make_table, close_db)
{
    static const struct {
        unsigned code;
        const char *message;
        enum error_code alone, in_transaction;
    } cases[] = {
        {1213, "Deadlock found", ERR_DB_DEADLOCK, ERR_DB_DEADLOCK},
        {1205, "Lock wait timeout exceeded", ERR_DB_DEADLOCK, ERR_DB_DEADLOCK},
        {3101, "Plugin instructed the server to rollback", ERR_DB_DEADLOCK, ERR_DB_DEADLOCK},
        {1180, "Got error 149 during COMMIT", ERR_DB_DEADLOCK, ERR_DB_DEADLOCK},
        /* Others may have it. */
        {1180, "Got error 5 during COMMIT", ERR_OUTCOME_UNKNOWN, ERR_DB_UNAVAILABLE},
        {3100, "Error on observer", ERR_OUTCOME_UNKNOWN, ERR_DB_UNAVAILABLE},
        {1047, "WSREP has not yet prepared node", ERR_DB_UNAVAILABLE, ERR_DB_UNAVAILABLE},
        {1290, "running with the --super-read-only", ERR_DB_UNAVAILABLE, ERR_DB_UNAVAILABLE},
        {1792, "in a READ ONLY transaction", ERR_DB_UNAVAILABLE, ERR_DB_UNAVAILABLE},
        {1836, "Running in read-only mode", ERR_DB_UNAVAILABLE, ERR_DB_UNAVAILABLE},
        {3098, "The table does not comply", ERR_DB_UNAVAILABLE, ERR_DB_UNAVAILABLE},
        {1021, "Disk full", ERR_DB_FULL, ERR_DB_FULL},
        {1644, "anything else", ERR_INTERNAL, ERR_INTERNAL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        error_auto alone = NULL;
        error_auto inside = NULL;
        answer_with(cases[i].code, cases[i].message);
        assert_int_equal(insert_one(db, NULL, &alone), -1);
        if (alone->code != cases[i].alone)
            fail_msg("%u: %s", cases[i].code, error_symbol(alone->code));
        assert_int_equal(db_transaction(db, insert_one, NULL, &inside), -1);
        if (inside->code != cases[i].in_transaction)
            fail_msg("%u in a transaction: %s", cases[i].code, error_symbol(inside->code));
    }
}

TEST_WITH(what_lost_against_another_is_run_again, make_table, close_db)
{
    error_auto err = NULL;
    answer_with(1213, "Deadlock found");
    assert_fails(insert_one(db, NULL, &err), ERR_DB_DEADLOCK);
    assert_true(runs_of_the_connection() > 1);
}

/* It waited for long already. */
TEST_WITH(what_waited_in_vain_is_not, make_table, close_db)
{
    error_auto err = NULL;
    answer_with(1205, "Lock wait timeout exceeded");
    assert_fails(insert_one(db, NULL, &err), ERR_DB_DEADLOCK);
    assert_int_equal(runs_of_the_connection(), 1);
}

TEST_GROUP(own_server, server_teardown)
