/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The standard output of a command: JSON with --json, else the same data as a sentence or a table.
 * The JSON values are taken over. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "account/api_key.h"
#include "base/json_make.h"
#include "ctl/ctl.h"

#define CTL_NO_SANDBOX "There is no sandbox %s; give its id, sbx_…, or TEAM/NAME."

/* Print one object, or the sentence about it. */
void ctl_print(const struct ctl *ctl, json_t *object, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct ctl_column {
    const char *title;
    const char *key; /* member of each row */
};

/* Print {"<name>": rows}, or a table of the columns. */
void ctl_print_rows(const struct ctl *ctl, const char *name, json_t *rows,
                    const struct ctl_column *columns, unsigned count);

/* Print the table, also with --json; rows stay the caller's. */
void ctl_print_table(const json_t *rows, const struct ctl_column *columns, unsigned count);

/* Write a value as JSON with a line break; to a terminal in ASCII. flags: those of json_dumpf(). */
void ctl_dump_json(const json_t *value, size_t flags);

/* Print an object as JSON. */
void ctl_print_json(json_t *value);

/* Return a key of the API, or one that signs in over SSH. */
json_t *ctl_key_json(const struct api_key *key, enum api_key_kind kind);
