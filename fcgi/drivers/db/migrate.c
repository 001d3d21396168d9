/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Schema statements commit by themselves in MySQL, so a migration cannot be undone as a whole. So
 * its row is written before its first statement, and marked after the last one. A row without the
 * mark means an unknown schema, which an operator must repair.
 */
#include "db/migrate.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "db/connection.h"
#include "db/migration_file.h"
#include "db/schema_needed.h"

/* Statements that rebuild a large table take their time. */
#define STATEMENT_TIMEOUT_S 3600
#define LOCK_WAIT_S         60

const unsigned db_schema_needed = SCHEMA_NEEDED;

static const char table_sql[] = "CREATE TABLE IF NOT EXISTS schema_migrations ("
                                " version INT UNSIGNED NOT NULL PRIMARY KEY,"
                                " name VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,"
                                " checksum CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,"
                                " statements_done INT UNSIGNED NOT NULL DEFAULT 0,"
                                " started_at_ms BIGINT NOT NULL,"
                                " applied_at_ms BIGINT NULL"
                                ") ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

/* A process that migrates locks the one row of this table, by a connection of its own. The lock
 * ends with the process, however it ends; a time in the row would not. Two such processes always
 * meet at the same server, because only one of several servers takes writes. */
static const char guard_table_sql[] =
    "CREATE TABLE IF NOT EXISTS migration_guard (id INT UNSIGNED NOT NULL PRIMARY KEY)"
    " ENGINE=InnoDB";
static const char guard_row_sql[] = "INSERT IGNORE INTO migration_guard (id) VALUES (1)";
static const char guard_begin_sql[] = "START TRANSACTION";
static const char guard_lock_sql[] = "SELECT id FROM migration_guard WHERE id = 1 FOR UPDATE";

/* Plain, without DB_STATEMENT: the service's account may not run them. */
static const struct db_statement table_exists_statement = {
    "migrate.table_exists",
    "SELECT COUNT(*) FROM information_schema.tables"
    " WHERE table_schema = DATABASE() AND table_name = 'schema_migrations'"};
static const struct db_statement list_statement = {
    "migrate.list",
    "SELECT version, name, checksum, statements_done, applied_at_ms FROM schema_migrations"
    " ORDER BY version"};
static const struct db_statement started_statement = {
    "migrate.started",
    "INSERT INTO schema_migrations (version, name, checksum, started_at_ms) VALUES (?, ?, ?, ?)"};
static const struct db_statement progress_statement = {
    "migrate.progress", "UPDATE schema_migrations SET statements_done = ? WHERE version = ?"};
static const struct db_statement applied_statement = {
    "migrate.applied", "UPDATE schema_migrations SET applied_at_ms = ? WHERE version = ?"};
static const struct db_statement not_started_statement = {
    "migrate.not_started", "DELETE FROM schema_migrations WHERE version = ?"};

static int half_applied(unsigned version, const char *name, unsigned done, struct error **err)
{
    return error_set(
        err, ERR_CONFIG,
        "migration %04u-%s was started and did not end: %u of its statements have run, and the "
        "next one may have run. Restore the backup from before the migration and run "
        "`sandlotctl migrate` again. Or run the missing statements by hand, and then UPDATE "
        "schema_migrations SET applied_at_ms = started_at_ms WHERE version = %u",
        version, name, done, version);
}

/* --- applied migrations --- */

/* rows of schema_migrations, or NULL when there is no such table yet. */
static int list_applied(struct db *db, struct db_rows **rows, struct error **err)
{
    uint64_t exists;
    if (DB_NUMBER(db, &table_exists_statement, DB_NO_ARGS, &exists, err) < 0)
        return -1;
    return exists == 0 ? 0 : db_query(db, &list_statement, DB_NO_ARGS, rows, err);
}

int db_schema_version(struct db *db, unsigned *version, struct error **err)
{
    db_rows_auto *rows = NULL;
    *version = 0;
    if (list_applied(db, &rows, err) < 0)
        return -1;
    while (rows && db_rows_next(rows)) {
        *version = (unsigned)db_get_u64(rows, 0);
        if (db_is_null(rows, 4))
            return half_applied(*version, db_get_text(rows, 1), (unsigned)db_get_u64(rows, 3), err);
    }
    return 0;
}

int db_schema_require(struct db *db, struct error **err)
{
    unsigned version;
    if (db_schema_version(db, &version, err) < 0)
        return -1;
    if (version < db_schema_needed)
        return error_set(err, ERR_CONFIG,
                         "the database has schema version %u, and this program needs %u: run "
                         "`sandlotctl migrate`",
                         version, db_schema_needed);
    if (version > db_schema_needed)
        return error_set(err, ERR_CONFIG,
                         "the database has schema version %u, and this program supports %u: "
                         "install the newer programs",
                         version, db_schema_needed);
    return 0;
}

/* Compare the applied migrations with the files; *done becomes their number. */
static int check_applied(struct db *db, const struct migration_files *files, size_t *done,
                         struct error **err)
{
    db_rows_auto *rows = NULL;
    if (list_applied(db, &rows, err) < 0)
        return -1;
    for (*done = 0; rows && db_rows_next(rows); ++*done) {
        unsigned version = (unsigned)db_get_u64(rows, 0);
        const char *name = db_get_text(rows, 1);
        if (db_is_null(rows, 4))
            return half_applied(version, name, (unsigned)db_get_u64(rows, 3), err);
        if (*done >= files->count)
            return error_set(err, ERR_CONFIG,
                             "the database has migration %04u-%s, which is not a file of this "
                             "installation: install the newer programs",
                             version, name);
        const struct migration_file *file = &files->files[*done];
        if (version != file->version)
            return error_set(err, ERR_CONFIG,
                             "the database lacks migration %04u-%s, but has the later %04u-%s: "
                             "restore the table of migrations from a backup",
                             file->version, file->name, version, name);
        if (strcmp(db_get_text(rows, 2), file->checksum))
            return error_set(err, ERR_CONFIG,
                             "the file of migration %04u-%s has changed since the database got it: "
                             "put the file of the release back",
                             version, file->name);
    }
    return 0;
}

/* --- applying --- */

static int apply_statements(struct db *db, const struct migration_file *file, struct error **err)
{
    const char *at = file->text;
    const char *statement;
    size_t length;
    for (unsigned n = 0; migration_next_statement(&at, &statement, &length); n++) {
        if (db_say(db, statement, length, err) < 0) {
            /* The very first one was refused: nothing has changed, so a mended file may be tried
             * as if there had been none. */
            error_auto ignored = NULL;
            if (n == 0 && db->mysql)
                db_exec(db, &not_started_statement, DB_ARGS(db_u64(file->version)), NULL, &ignored);
            return error_context(err, "migration %04u-%s, statement %u", file->version, file->name,
                                 n + 1);
        }
        if (db_exec(db, &progress_statement, DB_ARGS(db_u64(n + 1), db_u64(file->version)), NULL,
                    err) < 0)
            return -1;
    }
    return 0;
}

static int apply(struct db *db, const struct migration_file *file, struct error **err)
{
    int64_t started_ms = clock_monotonic_ms();
    if (db_exec(db, &started_statement,
                DB_ARGS(db_u64(file->version), db_text(file->name), db_text(file->checksum),
                        db_i64(clock_now_ms())),
                NULL, err) < 0 ||
        apply_statements(db, file, err) < 0 ||
        db_exec(db, &applied_statement, DB_ARGS(db_i64(clock_now_ms()), db_u64(file->version)),
                NULL, err) < 0)
        return -1;
    log_info("migration applied", LOG_INT("version", file->version), LOG_STR("name", file->name),
             LOG_INT("duration_ms", clock_monotonic_ms() - started_ms));
    return 0;
}

static int is_late(struct error **err)
{
    if (!error_clear_if(err, ERR_DB_DEADLOCK))
        return -1;
    return error_set(err, ERR_CONFIG,
                     "another sandlotctl is migrating this database; try again when it has ended");
}

/* Patience for its answers is twice that for locks. */
static int take_guard(const struct db *db, struct db **guard, struct error **err)
{
    static const struct {
        const char *text;
        size_t length;
    } said[] = {
        {guard_table_sql, sizeof guard_table_sql - 1},
        {guard_row_sql, sizeof guard_row_sql - 1},
        {guard_begin_sql, sizeof guard_begin_sql - 1},
        {guard_lock_sql, sizeof guard_lock_sql - 1},
    };
    struct db_options options = db->options;
    options.timeout_s = 2 * LOCK_WAIT_S;
    if (db_open(&options, guard, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(said); i++)
        if (db_say(*guard, said[i].text, said[i].length, err) < 0)
            return is_late(err);
    return 0;
}

static int migrate_locked(struct db *db, const struct migration_files *files, unsigned *applied,
                          struct error **err)
{
    size_t done;
    if (db_say(db, table_sql, sizeof table_sql - 1, err) < 0 ||
        check_applied(db, files, &done, err) < 0)
        return -1;
    for (; done < files->count; done++, ++*applied)
        if (apply(db, &files->files[done], err) < 0)
            return -1;
    return 0;
}

int db_migrate_to(struct db *db, const char *directory, unsigned target, unsigned *applied,
                  struct error **err)
{
    struct migration_files files = {0};
    struct db *guard = NULL;
    unsigned count = 0;
    int result = -1;
    if (migration_files_read(directory, target, &files, err) < 0 ||
        take_guard(db, &guard, err) < 0 || db_connection_reopen(db, STATEMENT_TIMEOUT_S, err) < 0)
        goto out;
    db->pinned = true;
    result = migrate_locked(db, &files, &count, err);
out:
    /* The next statement connects again, with the patience that the caller asked for. */
    db_connection_drop(db);
    db->timeout_s = db->options.timeout_s;
    db->pinned = false;
    if (guard)
        db_close(guard);
    migration_files_deinit(&files);
    if (applied)
        *applied = count;
    return result;
}

int db_migrate(struct db *db, const char *directory, unsigned *applied, struct error **err)
{
    return db_migrate_to(db, directory, db_schema_needed, applied, err);
}
