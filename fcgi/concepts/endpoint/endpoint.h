/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of the table of endpoints that several programs use. */
#pragma once

#include <stddef.h>

/* The worker pools. Each has its own workers. So creates that wait for the runtime, and sandboxes
 * with a slow agent, do not delay lists or changes of deadlines. Any number of pauses does not
 * delay creates. */
enum endpoint_pool {
    POOL_RECORDS, /* needs the database only; also paths that match no endpoint */
    POOL_RUNTIME, /* may wait for the runtime, for an agent or for the firewall */
    POOL_PAUSES,  /* writes the memory of a sandbox to the disk, which takes seconds */
    POOL_FILES,   /* takes as long as its client sends or reads */
};

/* The object that the path or the body names. */
enum endpoint_subject {
    SUBJECT_TEAM,       /* the team of the body or the query, or else the key's default team */
    SUBJECT_TEAMS,      /* the team of the query, or else every team of the key */
    SUBJECT_USER,       /* things of the key's user */
    SUBJECT_LOGIN,      /* things of a signed-in user; keys are refused */
    SUBJECT_MEMBERS,    /* the members of the team whose slug is the first captured segment */
    SUBJECT_OPERATOR,   /* the deployment, for owners of its own team */
    SUBJECT_SANDBOX,    /* the sandbox in the first captured segment of the path */
    SUBJECT_VOLUME,     /* likewise a volume */
    SUBJECT_CHECKPOINT, /* likewise a checkpoint */
    SUBJECT_WEBHOOK,    /* likewise a webhook */
};

struct endpoint {
    const char *method;
    const char *pattern; /* "/v1/sandboxes/:id" */
    enum endpoint_pool pool;
};
extern const struct endpoint endpoints[];
extern const size_t endpoint_count;
