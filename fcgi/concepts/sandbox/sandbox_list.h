/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list of a team's sandboxes, newest or oldest first, by keyset. States and metadata are served
 * from an index in the order of the answer, so that a page costs what it shows and not what the
 * table holds: all of a team from (team, visible, id), one state from (team, state, id), metadata
 * from (team, name, value, sandbox). What several filters share is looked for in the stretch of the
 * rarest pair of metadata. With a template or a time the team's sandboxes are walked through.
 */
#pragma once

#include "sandbox/sandbox.h"

#define SANDBOX_FILTER_METADATA_MAX 8

/* Any bytes, borrowed; stored are only names and values that are text. */
struct sandbox_filter_pair {
    const char *name, *value;
    size_t name_size, value_size;
};

struct sandbox_filter {
    bool states[SANDBOX_STATE_COUNT];                                 /* none set: all */
    struct sandbox_filter_pair metadata[SANDBOX_FILTER_METADATA_MAX]; /* all must match */
    unsigned metadata_count;
    const char *template;     /* a slug, or the id of a version or of a checkpoint; NULL: all */
    int64_t started_after_ms; /* 0: all */
    bool oldest_first;
};

/* The sandboxes of a team that match, behind the one with id `last` in the order of the filter
 * (NULL: from the beginning), at most limit. They are as sandbox_look() leaves them: the caller
 * knows the team's slug. The caller deinits each and frees the array, also after an error. */
int sandbox_list(struct db *db, const char *team_id, const struct sandbox_filter *filter,
                 const char *last, unsigned limit, struct sandbox **sandboxes, unsigned *count,
                 struct error **err);

/* The newest of a team by themselves, in that order, and the access revision of the same moment,
 * which is not told (*count is 0) where there are none. rows has room for limit. */
struct sandbox_listed {
    char id[ID_SIZE];
    uint64_t version; /* see sandbox_look_version() */
};
int sandbox_list_newest(struct db *db, const char *team_id, unsigned limit,
                        struct sandbox_listed *rows, unsigned *count, uint64_t *revision,
                        struct error **err);

/* Those that were made from a checkpoint, newest first. The caller does as above. */
int sandbox_list_of_copy(struct db *db, const char *checkpoint_id, unsigned limit,
                         struct sandbox **sandboxes, unsigned *count, struct error **err);
