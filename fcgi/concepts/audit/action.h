/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The acts that the audit log records: one table, actions.def. */
#pragma once

#include <stdbool.h>

enum audit_class {
    AUDIT_ONE,     /* one transaction, which also writes its row */
    AUDIT_LONG,    /* its first transaction writes a row `begun`; its end writes a second row */
    AUDIT_OUTSIDE, /* changes nothing in the database: the row `begun` is written before the act */
};

struct audit_action {
    const char *name; /* "sandbox.create" */
    enum audit_class class;
};

extern const struct audit_action
#define AUDIT_ACTION(symbol, name, class) audit_##symbol,
#include "audit/actions.def"
    audit_unnamed;

/* Return the action that records an operation of the API, or a command of sandlotctl. NULL: it
 * changes nothing. An operation or command that the table lacks is recorded as audit_unnamed. */
const struct audit_action *audit_action_of_operation(const char *operation);
const struct audit_action *audit_action_of_command(const char *words);

/* Return whether an action has this name. */
bool audit_action_is_known(const char *name);
