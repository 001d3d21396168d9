/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/versions.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

static const struct {
    const char *name, *tested;
} components[] = {
#define COMPONENT(symbol, name, tested) [COMPONENT_##symbol] = {name, tested},
#include "incus/workarounds.def"
};

const char *component_name(enum component component)
{
    return components[component].name;
}

const char *component_tested(enum component component)
{
    return components[component].tested;
}

/* 0: no version. */
static unsigned long rank(const char *version)
{
    unsigned major, minor = 0;
    return sscanf(version, "%5u.%5u", &major, &minor) < 1 ? 0 : major * 100000UL + minor;
}

bool component_is_newer(enum component component, const char *version)
{
    return rank(version) > rank(components[component].tested);
}

bool component_version_in(const char *names, const char *versions, const char *name, char *out,
                          size_t size)
{
    autofree char *left_text = xstrdup(names);
    autofree char *right_text = xstrdup(versions);
    char *left_rest = NULL, *right_rest = NULL;
    char *left = strtok_r(left_text, " |", &left_rest);
    char *right = strtok_r(right_text, " |", &right_rest);
    while (left && right && !str_equal(left, name)) {
        left = strtok_r(NULL, " |", &left_rest);
        right = strtok_r(NULL, " |", &right_rest);
    }
    if (!left || !right)
        return false;
    snprintf(out, size, "%s", right);
    return true;
}
