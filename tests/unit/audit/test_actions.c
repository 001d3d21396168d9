/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nothing that changes anything is forgotten: each route and each command has its row. */
#include "unit/unit.h"

#include "api/api.h"
#include "api/e2b/e2b.h"
#include "audit/audit.h"
#include "base/str.h"
#include "ctl/ctl.h"

static void check_routes(const struct route *routes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct route *route = &routes[i];
        bool may_change = !str_equal(route->method, "GET") && route->handler;
        if (may_change && audit_action_of_operation(route->operation) == &audit_unnamed)
            fail_msg("actions.def does not say what %s is recorded as", route->operation);
    }
}

TEST(every_route_that_changes_something_is_recorded)
{
    struct router e2b = e2b_router(NULL);
    check_routes(api_routes, api_route_count);
    check_routes(e2b.routes, e2b.count);
}

TEST(every_command_with_a_database_is_settled)
{
    for (unsigned i = 0; i < ctl_command_count; i++) {
        const struct ctl_command *command = &ctl_commands[i];
        if (command->need >= CTL_DATABASE &&
            audit_action_of_command(command->words) == &audit_unnamed)
            fail_msg("actions.def does not say what `%s` is recorded as", command->words);
    }
}

TEST(what_nobody_thought_of_is_recorded_all_the_same)
{
    assert_ptr_equal(audit_action_of_operation("inventedOperation"), &audit_unnamed);
    assert_null(audit_action_of_operation("checkNetwork"));
    assert_true(audit_action_is_known("sandbox.create"));
    assert_false(audit_action_is_known("unnamed"));
}

TEST(a_long_name_is_cut_between_characters)
{
    struct audit audit = {.action = NULL};
    char name[300];
    memset(name, 'x', sizeof name);
    memcpy(name + AUDIT_RESOURCE_SIZE - 2, "\xc3\xa4", 2);
    name[sizeof name - 1] = '\0';
    audit_about(&audit, name);
    assert_int_equal(strlen(audit.entry.resource), AUDIT_RESOURCE_SIZE - 2);
}
