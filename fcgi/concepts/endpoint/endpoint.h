/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the table of endpoints says to more than one program. */
#pragma once

#include <stddef.h>

/* A create that waits for the runtime, or a sandbox that keeps who asks its agent waiting, delays
 * neither a list nor a deadline that is moved, and pauses, however many, delay no create: they have
 * workers of their own. */
enum endpoint_pool {
    POOL_RECORDS, /* needs the database alone; also what matches no endpoint */
    POOL_RUNTIME, /* may wait for the runtime, for an agent or for the firewall */
    POOL_PAUSES,  /* writes the memory of a sandbox to the disk, which takes seconds */
    POOL_FILES,   /* takes as long as its client sends or reads */
};

/* What the path or the body names. */
enum endpoint_subject {
    SUBJECT_TEAM,       /* the team of the body or the query, or else the key's default team */
    SUBJECT_TEAMS,      /* the team of the query, or else every team of the key */
    SUBJECT_USER,       /* what belongs to the key's user */
    SUBJECT_LOGIN,      /* what belongs to one who has signed in: no key may ask */
    SUBJECT_MEMBERS,    /* the members of the team whose slug is the first captured segment */
    SUBJECT_OPERATOR,   /* the deployment: for owners of its own team */
    SUBJECT_SANDBOX,    /* what the first segment of the path that is captured names */
    SUBJECT_VOLUME,     /* likewise */
    SUBJECT_CHECKPOINT, /* likewise */
    SUBJECT_WEBHOOK,    /* likewise */
};

struct endpoint {
    const char *method;
    const char *pattern; /* "/v1/sandboxes/:id" */
    enum endpoint_pool pool;
};
extern const struct endpoint endpoints[];
extern const size_t endpoint_count;
