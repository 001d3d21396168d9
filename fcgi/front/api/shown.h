/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sandboxes as this worker has shown them lately. One holds for some seconds, as long as the
 * version in its row stands, which every change of what is shown changes: who reads that needs no
 * other column.
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

/* As it was shown last, in whatever version; NULL: it is not known. It lives until the next
 * shown_keep(). */
const struct shown *shown_find(const char *id);

/* A sandbox as its row was read, and what was made of it. */
void shown_keep(const struct sandbox *sandbox, const char *text, size_t size);
