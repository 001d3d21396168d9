/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/hooks.h"

#include "base/str.h"

#define COMMAND_MAX 4096
#define USER_MAX    64

static const char *const names[] = {
    [HOOK_BEFORE_PAUSE] = "before_pause",
    [HOOK_AFTER_RESUME] = "after_resume",
    [HOOK_AFTER_FORK] = "after_fork",
};

const char *hook_name(enum hook_kind kind)
{
    return names[kind];
}

static const char *const failures[] = {"ignore", "fail", NULL};
static const struct schema_member hook_members[] = {
    {.name = "command", .type = SCHEMA_STRING, .required = true, .min = 1, .max = COMMAND_MAX},
    {.name = "user", .type = SCHEMA_STRING, .min = 1, .max = USER_MAX},
    {.name = "timeout", .type = SCHEMA_INTEGER, .min = 1, .max = HOOK_TIMEOUT_MAX_S},
    {.name = "on_failure", .type = SCHEMA_STRING, .choices = failures},
    {.name = NULL},
};
const struct schema_member hooks_schema[] = {
    {.name = "before_pause", .type = SCHEMA_OBJECT, .members = hook_members},
    {.name = "after_resume", .type = SCHEMA_OBJECT, .members = hook_members},
    {.name = "after_fork", .type = SCHEMA_OBJECT, .members = hook_members},
    {.name = NULL},
};

bool hook_find(const json_t *hooks, enum hook_kind kind, struct hook *hook)
{
    const json_t *object = json_object_get(hooks, names[kind]);
    const json_t *timeout = json_object_get(object, "timeout");
    *hook = (struct hook){
        .command = json_string_value(json_object_get(object, "command")),
        .user = json_string_value(json_object_get(object, "user")),
        .timeout_s = timeout ? (unsigned)json_integer_value(timeout) : HOOK_TIMEOUT_DEFAULT_S,
        .fails = str_equal(json_string_value(json_object_get(object, "on_failure")), "fail"),
    };
    return hook->command;
}
