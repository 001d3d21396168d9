/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The vocabulary of what is recorded: one table, actions.def. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum audit_class {
    AUDIT_ONE,  /* one transaction, in which its row is written too */
    AUDIT_LONG, /* begins with one, in which a row `begun` is written; its end has a second row */
    AUDIT_OUTSIDE, /* changes nothing in the database: `begun` is written before anything is done */
};

struct audit_action {
    const char *name; /* "sandbox.create" */
    enum audit_class class;
};

extern const struct audit_action
#define AUDIT_ACTION(symbol, name, class) audit_##symbol,
#include "audit/actions.def"
    audit_unnamed;

/* What an operation of the interface, or a command of sandlotctl, is recorded as; NULL: it changes
 * nothing. One that the table does not know is not left out: it is audit_unnamed. */
const struct audit_action *audit_action_of_operation(const char *operation);
const struct audit_action *audit_action_of_command(const char *words);

/* Whether any act has this name. */
bool audit_action_is_known(const char *name);
