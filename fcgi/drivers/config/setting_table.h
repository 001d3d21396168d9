/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read the rows of settings.def; only for the parser and the printers of config/. */
#pragma once

#include <stddef.h>

#include "config/settings.h"

enum setting_kind { SETTING_KIND_STRING, SETTING_KIND_NUMBER, SETTING_KIND_CHOICE };

struct setting {
    const char *name;
    enum setting_kind kind;
    size_t offset;                           /* in struct settings */
    const char *fallback;                    /* as the file would spell it; NULL: must be set */
    const char *(*check)(const char *value); /* string: NULL, or a description of allowed values */
    const char *choices;                     /* choice: "a|b" */
    uint64_t min, max;                       /* number */
    const char *unit;                        /* number; "" when it has none */
    const char *prose;
};

/* Return the title of the section that begins with this setting, or NULL. */
const char *setting_section_title(const char *name);

extern const struct setting setting_table[];
extern const size_t setting_count;

/* Check a value. Returns NULL for an allowed value, else a description ("a number from 1 to 5"),
 * which the caller frees. */
char *setting_problem(const struct setting *setting, const char *value);

/* Store a checked value in place of the present one. */
void setting_store(const struct setting *setting, struct settings *settings, const char *value);
