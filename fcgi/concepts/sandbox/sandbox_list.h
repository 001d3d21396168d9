/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * List a team's sandboxes, newest or oldest first, by keyset. An index serves states and metadata
 * in the order of the answer. So the cost of a page depends on its length, and not on the size of
 * the table. The indexes are (team, visible, id) for all sandboxes and (team, state, id) for one
 * state. For names there is (team, name), and for metadata (team, name, value, sandbox).
 *
 * With several filters, the query walks the rows of the rarest pair of metadata. With a template or
 * a time, it walks the team's sandboxes.
 */
#pragma once

#include "sandbox/sandbox.h"

#define SANDBOX_FILTER_METADATA_MAX 8

/* All rows of a list, which hold policies and metadata; more sandboxes are on the next page. */
#define SANDBOX_LIST_BYTES_MAX (4u << 20)

/* Any bytes, borrowed; only names and values that are text are stored. */
struct sandbox_filter_pair {
    const char *name, *value;
    size_t name_size, value_size;
};

struct sandbox_filter {
    bool states[SANDBOX_STATE_COUNT];                                 /* none set: all */
    struct sandbox_filter_pair metadata[SANDBOX_FILTER_METADATA_MAX]; /* all must match */
    unsigned metadata_count;
    const char *name;         /* NULL: all */
    const char *name_prefix;  /* instead of name: what the name begins with */
    const char *template;     /* a slug, or the id of a version or of a checkpoint; NULL: all */
    int64_t started_after_ms; /* 0: all */
    bool oldest_first;
};

/* List the sandboxes of a team that match the filter, at most limit. last: the id after which the
 * list starts, in the order of the filter; NULL: from the beginning. *cut: the list ended early,
 * because its rows are as large as a list may be. Each has the fields that sandbox_look() reads;
 * the caller knows the team's slug. The caller deinits each and frees the array, also after an
 * error. */
int sandbox_list(struct db *db, const char *team_id, const struct sandbox_filter *filter,
                 const char *last, unsigned limit, struct sandbox **sandboxes, unsigned *count,
                 bool *cut, struct error **err);

/* List only the ids and versions of a team's newest sandboxes, and the access revision of the same
 * moment. Without sandboxes (*count is 0) *revision is not set. rows has room for limit. */
struct sandbox_listed {
    char id[ID_SIZE];
    uint64_t version; /* see sandbox_look_version() */
};
int sandbox_list_newest(struct db *db, const char *team_id, unsigned limit,
                        struct sandbox_listed *rows, unsigned *count, uint64_t *revision,
                        struct error **err);

/* List the sandboxes that were made from a checkpoint, newest first. The caller frees as above. */
int sandbox_list_of_copy(struct db *db, const char *checkpoint_id, unsigned limit,
                         struct sandbox **sandboxes, unsigned *count, struct error **err);
