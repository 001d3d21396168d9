/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hooks of a sandbox: commands that the service runs in it around a pause, a resume or a fork.
 *
 *   {"before_pause": {"command": "…", "user": "root", "timeout": 10, "on_failure": "ignore"},
 *    "after_resume": {…}, "after_fork": {…}}
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "http/schema.h"

#define HOOK_TIMEOUT_MAX_S     30
#define HOOK_TIMEOUT_DEFAULT_S 10

enum hook_kind { HOOK_BEFORE_PAUSE, HOOK_AFTER_RESUME, HOOK_AFTER_FORK };

/* Return the member of a list of hooks. */
const char *hook_name(enum hook_kind kind);

extern const struct schema_member hooks_schema[];

struct hook {
    const char *command, *user; /* user NULL: the user of commands */
    unsigned timeout_s;
    bool fails; /* the verb fails with it */
};

/* Read a hook of a checked object; its texts belong to the object. False: there is no such hook. */
bool hook_find(const json_t *hooks, enum hook_kind kind, struct hook *hook);
