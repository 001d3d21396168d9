/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the table of endpoints says to more than one program. */
#pragma once

#include <stddef.h>

/* A create that waits for the runtime, or a sandbox that keeps who asks its agent waiting, delays
 * neither a list nor a deadline that is moved: they have workers of their own. */
enum endpoint_pool {
    POOL_RECORDS, /* needs the database alone; also what matches no endpoint */
    POOL_RUNTIME, /* may wait for the runtime, for an agent or for the firewall */
    POOL_FILES,   /* takes as long as its client sends or reads */
};

/* What the path or the body names. */
enum endpoint_subject {
    SUBJECT_TEAM,       /* the team of the body or the query, or else the key's default team */
    SUBJECT_TEAMS,      /* the team of the query, or else every team of the key */
    SUBJECT_USER,       /* what belongs to the key's user */
    SUBJECT_SANDBOX,    /* what the first segment of the path that is captured names */
    SUBJECT_VOLUME,     /* likewise */
    SUBJECT_CHECKPOINT, /* likewise */
};

struct endpoint {
    const char *method;
    const char *pattern; /* "/v1/sandboxes/:id" */
    enum endpoint_pool pool;
};
extern const struct endpoint endpoints[];
extern const size_t endpoint_count;
