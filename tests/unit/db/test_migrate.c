/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "db/migrate.h"
#include "db/migration_file.h"
#include "unit/db/own_server.h"

static MYSQL *raw;
static char directory[80];

static int setup(void **state)
{
    if (own_server(state) < 0)
        return -1;
    snprintf(directory, sizeof directory, "%s/sql", server->directory);
    return mkdir(directory, 0755);
}

/* An empty database and an empty directory. */
static int start_empty(void **state)
{
    raw = server_raw(server);
    server_say(raw, "DROP DATABASE unit");
    server_say(raw, "CREATE DATABASE unit CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
    server_say(raw, "USE unit");
    db = server_open(server);
    return 0;
}

static int clean_up(void **state)
{
    db_close(db);
    mysql_close(raw);
    DIR *listing = opendir(directory);
    for (struct dirent *entry; listing && (entry = readdir(listing));)
        unlinkat(dirfd(listing), entry->d_name, 0);
    closedir(listing);
    return 0;
}

static void put(const char *name, const char *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static bool has_table(const char *name)
{
    char sql[200];
    snprintf(sql, sizeof sql,
             "SELECT COUNT(*) FROM information_schema.tables"
             " WHERE table_schema = 'unit' AND table_name = '%s'",
             name);
    return server_ask(raw, sql) == 1;
}

/* --- files --- */

TEST(splits_at_semicolons_that_end_a_line)
{
    static const char text[] = "-- a comment; with a semicolon;\n"
                               "\n"
                               "CREATE TABLE a (x INT); \t\r\n"
                               "INSERT INTO a\n"
                               "-- between;\n"
                               "VALUES (';'), ('a;b');\n"
                               "SELECT 1; SELECT 2;\n"
                               "  -- the end;\n";
    static const char *const expected[] = {
        "CREATE TABLE a (x INT)",
        "INSERT INTO a\n-- between;\nVALUES (';'), ('a;b')",
        "SELECT 1; SELECT 2",
    };
    const char *at = text, *statement;
    size_t length;
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        assert_true(migration_next_statement(&at, &statement, &length));
        assert_int_equal(length, strlen(expected[i]));
        assert_memory_equal(statement, expected[i], length);
    }
    assert_false(migration_next_statement(&at, &statement, &length));
}

static void refuses_files(const char *says)
{
    error_auto err = NULL;
    struct migration_files files = {0};
    assert_fails_saying(migration_files_read(directory, 2, &files, &err), ERR_CONFIG, says);
    migration_files_deinit(&files);
    /* And the database is not touched. */
    assert_fails_saying(db_migrate_to(db, directory, 2, NULL, &err), ERR_CONFIG, says);
    assert_false(has_table("schema_migrations"));
    assert_false(has_table("a"));
}

TEST_WITH(refuses_directories_that_are_not_whole, start_empty, clean_up)
{
    put("0001-a.sql", "CREATE TABLE a (x INT);\n");
    refuses_files("this program needs 2");
    put("0003-c.sql", "CREATE TABLE c (x INT);\n");
    refuses_files("migration 0002 is missing");
    put("0002-b.sql", "CREATE TABLE b (x INT);\n");
    refuses_files("this program needs 2");
    clean_up(NULL);
    start_empty(NULL);
    put("0001-a.sql", "CREATE TABLE a (x INT);\n");
    put("0002-b.sql", "CREATE TABLE b (x INT)\n");
    refuses_files("0002-b: a statement does not end");
    put("0002-b.sql", "-- nothing\n");
    refuses_files("0002-b: a statement does not end");
    put("2-b.sql", "SELECT 1;\n");
    refuses_files("NNNN-name.sql");
}

/* --- applying --- */

TEST_WITH(applies_in_order_and_once, start_empty, clean_up)
{
    error_auto err = NULL;
    unsigned applied = 9, version = 9;
    put("0002-b.sql", "ALTER TABLE a ADD COLUMN y INT NULL;\nINSERT INTO a VALUES (1, 2);\n");
    put("0001-a.sql", "-- first\nCREATE TABLE a (x INT) ENGINE=InnoDB;\n");
    put("README", "not a migration");
    assert_ok(db_schema_version(db, &version, &err));
    assert_int_equal(version, 0);
    assert_ok(db_migrate_to(db, directory, 2, &applied, &err));
    assert_int_equal(applied, 2);
    assert_int_equal(server_ask(raw, "SELECT y FROM a"), 2);
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM schema_migrations"
                                     " WHERE applied_at_ms >= started_at_ms"),
                     2);
    assert_ok(db_schema_version(db, &version, &err));
    assert_int_equal(version, 2);
    assert_ok(db_migrate_to(db, directory, 2, &applied, &err));
    assert_int_equal(applied, 0);
    put("0003-c.sql", "CREATE TABLE c (x INT);\n");
    assert_ok(db_migrate_to(db, directory, 3, &applied, &err));
    assert_int_equal(applied, 1);
    assert_true(has_table("c"));
}

TEST_WITH(applies_the_schema_of_this_release, start_empty, clean_up)
{
    error_auto err = NULL;
    unsigned applied = 0;
    char path[512];
    const char *source = getenv("SANDLOT_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/sql", source ? source : ".");
    assert_fails_saying(db_schema_require(db, &err), ERR_CONFIG, "sandlotctl migrate");
    assert_ok(db_migrate(db, path, &applied, &err));
    assert_int_equal(applied, db_schema_needed);
    assert_ok(db_schema_require(db, &err));
    assert_true(has_table("sandboxes"));
    assert_ok(db_migrate(db, path, &applied, &err));
    assert_int_equal(applied, 0);
}

TEST_WITH(refuses_a_file_that_changed, start_empty, clean_up)
{
    error_auto err = NULL;
    put("0001-a.sql", "CREATE TABLE a (x INT);\n");
    assert_ok(db_migrate_to(db, directory, 1, NULL, &err));
    put("0001-a.sql", "CREATE TABLE a (x BIGINT);\n");
    assert_fails_saying(db_migrate_to(db, directory, 1, NULL, &err), ERR_CONFIG,
                        "has changed since the database got it");
}

TEST_WITH(refuses_a_database_that_is_newer, start_empty, clean_up)
{
    error_auto err = NULL;
    char late[32];
    put("0001-a.sql", "CREATE TABLE a (x INT);\n");
    assert_ok(db_migrate_to(db, directory, 1, NULL, &err));
    server_say(raw, "INSERT INTO schema_migrations VALUES (9999, 'late', '', 1, 1, 1)");
    assert_fails_saying(db_migrate_to(db, directory, 1, NULL, &err), ERR_CONFIG,
                        "install the newer programs");
    assert_fails_saying(db_schema_require(db, &err), ERR_CONFIG, "install the newer programs");
    /* A hole in what was applied. */
    server_say(raw, "UPDATE schema_migrations SET version = 2 WHERE version = 9999");
    server_say(raw, "DELETE FROM schema_migrations WHERE version = 1");
    snprintf(late, sizeof late, "0002-late.sql");
    put(late, "CREATE TABLE late (x INT);\n");
    assert_fails_saying(db_migrate_to(db, directory, 2, NULL, &err), ERR_CONFIG,
                        "the database lacks migration 0001-a");
}

TEST_WITH(says_what_to_do_about_a_half_applied_one, start_empty, clean_up)
{
    error_auto err = NULL;
    unsigned applied = 9, version;
    put("0001-a.sql", "CREATE TABLE a (x INT);\n");
    put("0002-b.sql",
        "CREATE TABLE b (x INT);\nCREATE TABLE a (x INT);\nCREATE TABLE c (x INT);\n");
    assert_fails_saying(db_migrate_to(db, directory, 2, &applied, &err), ERR_INTERNAL,
                        "migration 0002-b, statement 2");
    assert_int_equal(applied, 1);
    assert_true(has_table("b"));
    assert_false(has_table("c"));
    for (int i = 0; i < 2; i++)
        assert_fails_saying(db_migrate_to(db, directory, 2, NULL, &err), ERR_CONFIG,
                            "0002-b was started and did not end: 1 of its statements have run");
    assert_fails_saying(db_schema_require(db, &err), ERR_CONFIG, "was started and did not end");
    assert_fails_saying(db_schema_version(db, &version, &err), ERR_CONFIG, "WHERE version = 2");
    /* The advice works. */
    server_say(raw, "CREATE TABLE c (x INT)");
    server_say(raw, "UPDATE schema_migrations SET applied_at_ms = started_at_ms WHERE version = 2");
    assert_ok(db_schema_version(db, &version, &err));
    assert_int_equal(version, 2);
    assert_ok(db_migrate_to(db, directory, 2, &applied, &err));
    assert_int_equal(applied, 0);
}

TEST_WITH(a_first_statement_that_is_refused_leaves_no_trace, start_empty, clean_up)
{
    error_auto err = NULL;
    put("0001-a.sql", "CREATE TABEL a (x INT);\n");
    assert_fails_saying(db_migrate_to(db, directory, 1, NULL, &err), ERR_INTERNAL,
                        "migration 0001-a, statement 1");
    put("0001-a.sql", "CREATE TABLE a (x INT);\n");
    assert_ok(db_migrate_to(db, directory, 1, NULL, &err));
}

static void *migrate_in_thread(void *context)
{
    unsigned *applied = context;
    struct error *err = NULL;
    struct db *other = server_open(server);
    db_migrate_to(other, directory, 2, applied, &err);
    db_close(other);
    return err;
}

TEST_WITH(two_at_once_take_turns, start_empty, clean_up)
{
    error_auto err = NULL;
    unsigned here = 0, there = 0;
    pthread_t thread;
    void *thread_err;
    put("0001-a.sql", "DO SLEEP(0.5);\nCREATE TABLE a (x INT);\n");
    put("0002-b.sql", "CREATE TABLE b (x INT);\n");
    assert_int_equal(pthread_create(&thread, NULL, migrate_in_thread, &there), 0);
    assert_ok(db_migrate_to(db, directory, 2, &here, &err));
    pthread_join(thread, &thread_err);
    assert_null(thread_err);
    assert_int_equal(here + there, 2);
    assert_true(here == 0 || there == 0);
    /* The lock is free again. */
    assert_int_equal(server_ask(raw, "SELECT id FROM migration_guard FOR UPDATE"), 1);
}

TEST_GROUP(setup, server_teardown)
