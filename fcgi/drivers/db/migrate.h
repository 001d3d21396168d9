/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbered, forward-only schema migrations: files NNNN-name.sql in one directory, each statement
 * ended by a ';' at the end of a line. Taken one at a time under a lock, each recorded in
 * schema_migrations with the checksum of its file. MySQL commits schema statements by themselves: a
 * migration that died half-way is found again and refused, with what to do about it.
 */
#pragma once

#include "db/db.h"

/* The version that this build of the programs needs: the number of migrations in sql/. */
extern const unsigned db_schema_needed;

/* Apply the missing migrations in order; applied (may be NULL) counts them. ERR_CONFIG: a file's
 * checksum differs from the applied one, there is a gap, or the database is newer than this
 * build. */
int db_migrate(struct db *db, const char *directory, unsigned *applied, struct error **err);

/* Do the same as db_migrate(), for a directory that ends at another version. */
int db_migrate_to(struct db *db, const char *directory, unsigned target, unsigned *applied,
                  struct error **err);

/* Read where the database stands; 0: nothing was ever applied. ERR_CONFIG: a migration died
 * half-way. */
int db_schema_version(struct db *db, unsigned *version, struct error **err);

/* Check that the database stands exactly at db_schema_needed. Returns 0, or else ERR_CONFIG saying
 * what to do. */
int db_schema_require(struct db *db, struct error **err);
