/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files NNNN-name.sql of one directory; only migrate.c and its tests include this. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct migration_file {
    unsigned version;
    char *name; /* of 0001-initial.sql: "initial" */
    char *text;
    char checksum[65]; /* BLAKE2b-256 of the text, in hex */
};

struct migration_files {
    struct migration_file *files; /* by version, from 1, without a gap */
    size_t count;
};

/* Read all migrations of a directory. The caller calls migration_files_deinit(), also after an
 * error. Errors: ERR_CONFIG, also when the numbers are not exactly 1 to target. */
int migration_files_read(const char *directory, unsigned target, struct migration_files *files,
                         struct error **err);
void migration_files_deinit(struct migration_files *files);

/* Find the next statement at *at, and move *at behind it. A ';' at the end of a line ends a
 * statement, and is not part of it. Lines that begin with "--" are comments. Returns false at the
 * end. migration_files_read() refuses a file whose last statement has no ';'. */
bool migration_next_statement(const char **at, const char **statement, size_t *length);
