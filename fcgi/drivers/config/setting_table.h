/* SPDX-License-Identifier: GPL-2.0-or-later */
/* settings.def as rows; for the parser and the printers of config/ only. */
#pragma once

#include <stddef.h>

#include "config/settings.h"

enum setting_kind { SETTING_KIND_STRING, SETTING_KIND_NUMBER, SETTING_KIND_CHOICE };

struct setting {
    const char *name;
    enum setting_kind kind;
    size_t offset;                           /* in struct settings */
    const char *fallback;                    /* as the file would spell it; NULL: must be set */
    const char *(*check)(const char *value); /* string: NULL, or what the value must be */
    const char *choices;                     /* choice: "a|b" */
    uint64_t min, max;                       /* number */
    const char *unit;                        /* number; "" when it has none */
    const char *prose;
};

/* The title under which the setting of that name begins a section; NULL for one that begins none.
 */
const char *setting_section_title(const char *name);

extern const struct setting setting_table[];
extern const size_t setting_count;

/* NULL when the value may stand for the setting, else what it must be ("a number from 1 to 5");
 * the caller frees that. */
char *setting_problem(const struct setting *setting, const char *value);

/* Store a checked value, replacing what is there. */
void setting_store(const struct setting *setting, struct settings *settings, const char *value);
