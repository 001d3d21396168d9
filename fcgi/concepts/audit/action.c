/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "audit/action.h"

#include <string.h>

#include "base/mem.h"

const struct audit_action audit_unnamed = {"unnamed", AUDIT_LONG};
#define AUDIT_ACTION(symbol, name, class) const struct audit_action audit_##symbol = {name, class};
#include "audit/actions.def"

struct named {
    const char *name;
    const struct audit_action *action;
};

static const struct named operations[] = {
#define AUDIT_OPERATION(operation, symbol) {operation, &audit_##symbol},
#define AUDIT_NO_OPERATION(operation)      {operation, NULL},
#include "audit/actions.def"
};

static const struct named commands[] = {
#define AUDIT_COMMAND(words, symbol) {words, &audit_##symbol},
#define AUDIT_NO_COMMAND(words)      {words, NULL},
#include "audit/actions.def"
};

static const struct audit_action *find(const struct named *table, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(table[i].name, name))
            return table[i].action;
    return &audit_unnamed;
}

const struct audit_action *audit_action_of_operation(const char *operation)
{
    return find(operations, ARRAY_SIZE(operations), operation);
}

const struct audit_action *audit_action_of_command(const char *words)
{
    return find(commands, ARRAY_SIZE(commands), words);
}

bool audit_action_is_known(const char *name)
{
    static const char *const names[] = {
#define AUDIT_ACTION(symbol, name, class) name,
#include "audit/actions.def"
    };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}
