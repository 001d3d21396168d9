/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/account.h"

#include <string.h>

#include "base/mem.h"

bool slug_is_valid(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length <= SLUG_MAX && text[0] != '-' && text[length - 1] != '-' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

static const char *const role_names[] = {
    [ROLE_VIEWER] = "viewer", [ROLE_MEMBER] = "member", [ROLE_OWNER] = "owner"};

const char *team_role_name(enum team_role role)
{
    return role_names[role];
}

int team_role_parse(const char *name, enum team_role *role)
{
    for (unsigned i = 0; i < ARRAY_SIZE(role_names); i++)
        if (!strcmp(name, role_names[i])) {
            *role = (enum team_role)i;
            return 0;
        }
    return -1;
}
