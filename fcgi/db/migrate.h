/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbered, forward-only schema migrations: files NNNN-name.sql in one directory, each statement
 * ended by a ';' at the end of a line. Taken one at a time under GET_LOCK, each recorded in
 * schema_migrations with the checksum of its file.
 */
#pragma once

#include "db/db.h"

/* The version that this build of the programs needs. */
#define DB_SCHEMA_VERSION 1

/* Apply what is missing, in order; applied (may be NULL) counts them. A file whose checksum differs
 * from what was applied, a gap, or a database newer than this build: ERR_CONFIG. */
int db_migrate(struct db *db, const char *directory, unsigned *applied, struct error **err);

/* 0 when the database stands exactly at DB_SCHEMA_VERSION; else ERR_CONFIG saying what to do. */
int db_schema_require(struct db *db, struct error **err);
