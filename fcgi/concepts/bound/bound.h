/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of bounds.def: each thing that tenants share, and how much each tenant may have. People
 * read the table; the code that enforces a bound has it too. A unit test compares the table with
 * the tables of the schema, the worker pools and the tests.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "base/buffer.h"
#include "config/settings.h"

enum bound_kind {
    BOUND_TABLE, /* tables of the database */
    BOUND_POOL,  /* worker pools, and processes of a dispatcher */
    BOUND_FRONT, /* other things of a front node */
    BOUND_HOST,  /* things of a host node that its sandboxes share */
    BOUND_GUEST, /* things of one sandbox that its users share */
    BOUND_KIND_COUNT
};
extern const char *const bound_kind_names[BOUND_KIND_COUNT];

/* The texts may name settings, as $name. */
struct bound {
    enum bound_kind kind;
    const char *name;
    const char *covers;                       /* names, separated by blanks; "": none */
    const char *per_user, *per_team, *in_all; /* "": it is not counted that way */
    const char *at_bound;                     /* the consequence */
    const char *test;                         /* "path below tests/::name"; "": none */
};
extern const struct bound bounds[];
extern const size_t bound_count;

/* Append a text of a bound, with "value unit (name)" for each setting that it names; quote stands
 * around the name. Aborts when there is no such setting. */
void bound_append(const char *text, const struct settings *settings, const char *quote,
                  struct buffer *out);

/* Print the whole table as a page of the documentation. */
void bound_print_page(const struct settings *settings, FILE *out);
