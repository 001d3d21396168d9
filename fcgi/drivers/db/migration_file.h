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

/* Read them all. ERR_CONFIG unless they are exactly 1 … target. The caller ends with
 * migration_files_deinit(), also after an error. */
int migration_files_read(const char *directory, unsigned target, struct migration_files *files,
                         struct error **err);
void migration_files_deinit(struct migration_files *files);

/* Read the next statement at *at, which moves behind it: a ';' at the end of a line ends one.
 * Lines that begin with "--" are comments. false: the end; reading the file refuses text without
 * its ';'. */
bool migration_next_statement(const char **at, const char **statement, size_t *length);
