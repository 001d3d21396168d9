/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many sandboxes were made from a template. Creates write no counter, because creates of one
 * template would wait for each other at its row. Instead a dispatcher counts the rows of sandboxes
 * now and then, long before they are deleted. Readers add the owner's own sandboxes that came
 * since.
 */
#pragma once

#include <stdint.h>

#include "base/ulid.h"
#include "db/db.h"

struct template_use {
    char template_id[ID_SIZE];
    uint64_t sandboxes; /* created by its name; without those of checkpoints and forks */
    int64_t last_at_ms; /* of the newest; 0: never */
};

/* List the uses of the owner's templates by template_id. Sandboxes of other teams, which a public
 * template has, are missing until the next count. Owned by the caller. */
int template_uses_list(struct db *db, const char *owner, struct template_use **uses,
                       unsigned *count, struct error **err);

/* Find a template's use in such a list; all zero when the list does not have it. */
struct template_use template_use_of(const struct template_use *uses, unsigned count,
                                    const char *template_id);

/* Count the rows since the last count. Identifiers come from the clocks of other processes, and
 * rows may be committed late. So the newest two minutes are left for the next time. This is a
 * transaction of its own. */
int template_uses_count(struct db *db, struct error **err);
