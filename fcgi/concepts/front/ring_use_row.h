/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The statements of ring_use.h; for this folder. */
#pragma once

#include "db/db.h"

/* A column of sealed values. */
struct ring_column {
    const char *what;
    const char *prefix; /* of the associated name, before the id */
    const struct db_statement *list, *put, *count;
};
extern const struct ring_column ring_columns[];
extern const unsigned ring_column_count;

/* Rows that name a key: the parameter is the highest key to count. */
struct ring_reference {
    const char *what;
    const struct db_statement *count;
};
extern const struct ring_reference ring_references[];
extern const unsigned ring_reference_count;
