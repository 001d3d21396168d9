/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Apply numbered, forward-only schema migrations: files NNNN-name.sql in one directory. A ';' at
 * the end of a line ends each statement. One process at a time applies them. It records each in
 * schema_migrations, with the checksum of its file. MySQL commits schema statements by themselves,
 * so a migration cannot be rolled back. The next run finds a migration that did not end, and
 * refuses to continue; the message says what to do.
 */
#pragma once

#include "db/db.h"

/* The version that this build of the programs needs: the number of migrations in sql/. */
extern const unsigned db_schema_needed;

/* Apply the missing migrations in order. applied (may be NULL): their number, also after an error.
 * Errors: those of the database, and ERR_CONFIG:
 *
 * - A file cannot be read, is missing, or has another checksum than the applied one.
 * - The database is newer than this build, or an earlier migration did not end.
 * - Another process is migrating. */
int db_migrate(struct db *db, const char *directory, unsigned *applied, struct error **err);

/* Do the same as db_migrate(), for a directory that ends at another version. */
int db_migrate_to(struct db *db, const char *directory, unsigned target, unsigned *applied,
                  struct error **err);

/* Read the schema version of the database; 0: no migration was ever applied. Errors: ERR_CONFIG (a
 * migration did not end), and those of the database. */
int db_schema_version(struct db *db, unsigned *version, struct error **err);

/* Check that the database has exactly the version db_schema_needed. Errors: ERR_CONFIG, with a
 * message that says what to do, and those of the database. */
int db_schema_require(struct db *db, struct error **err);
