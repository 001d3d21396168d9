/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compare the versions of programs on a host with those of the tests
 * (fcgi/drivers/incus/workarounds.def). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum component {
#define COMPONENT(symbol, name, tested) COMPONENT_##symbol,
#include "incus/workarounds.def"
    COMPONENT_COUNT
};

const char *component_name(enum component component);
const char *component_tested(enum component component);

/* Return whether a version is newer than the tested one: their first two numbers count. A text that
 * is no version is not newer. */
bool component_is_newer(enum component component, const char *version);

/* Find the version with this name in lists as Incus gives them, "lxc | qemu" and "5.0.2 | 7.2.0".
 * Returns false when the name is not there. */
bool component_version_in(const char *names, const char *versions, const char *name, char *out,
                          size_t size);
