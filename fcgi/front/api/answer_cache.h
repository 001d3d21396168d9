/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keep recent answers of this worker about sandboxes. An answer is valid for some seconds, as long
 * as the version in the sandbox's row is the same. Every change of a shown column changes the
 * version. A reader of the version therefore needs no other column.
 */
#pragma once

#include "sandbox/sandbox.h"

struct shown {
    char id[ID_SIZE], team_id[ID_SIZE], team_slug[SLUG_MAX + 1];
    enum sandbox_state state;
    uint64_t version;
    int64_t kept_ms; /* monotonic */
    char *text;      /* JSON */
    size_t size;
};

/* Return the last answer for a sandbox, of any version; NULL without one. It is valid until the
 * next shown_keep(). */
const struct shown *shown_find(const char *id);

/* Keep the answer that was made from a sandbox's row. */
void shown_keep(const struct sandbox *sandbox, const char *text, size_t size);
