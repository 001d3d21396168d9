/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/tenant.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

int tenant_parse(const char *text, struct tenant *tenant)
{
    struct tenant read = {0};
    char copy[TENANT_SIZE];
    char *user = copy;
    if ((size_t)snprintf(copy, sizeof copy, "%s", text) >= sizeof copy)
        return -1;
    const char *team = strsep(&user, ":");
    if (str_parse_u64(team, 1, UINT64_MAX, &read.team) < 0 ||
        (user && str_parse_u64(user, 1, UINT64_MAX, &read.user) < 0))
        return -1;
    *tenant = read;
    return 0;
}

void tenant_print(const struct tenant *tenant, char text[TENANT_SIZE])
{
    int length = snprintf(text, TENANT_SIZE, "%llu", (unsigned long long)tenant->team);
    if (tenant->user)
        snprintf(text + length, TENANT_SIZE - (size_t)length, ":%llu",
                 (unsigned long long)tenant->user);
}
