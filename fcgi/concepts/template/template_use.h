/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many sandboxes were made of a template. Creates write nothing for it, since those of one
 * template would wait for each other at its row: a dispatcher counts the sandboxes' rows now and
 * then, long before they are removed, and whoever asks counts those that came since.
 */
#pragma once

#include <stdint.h>

#include "base/ulid.h"
#include "db/db.h"

struct template_use {
    char template_id[ID_SIZE];
    uint64_t sandboxes; /* that were asked for by its name; not those of checkpoints and forks */
    int64_t last_at_ms; /* when the newest was; 0: never */
};

/* The uses of the owner's templates and of the deployment's, by template_id. Owned by the caller.
 */
int template_uses_list(struct db *db, const char *owner, struct template_use **uses,
                       unsigned *count, struct error **err);

/* The one of the template in such a list; all zero where there is none. */
struct template_use template_use_of(const struct template_use *uses, unsigned count,
                                    const char *template_id);

/* Count what came since the last time. Rows may have another process's clock in their identifiers
 * and be committed late, so the newest two minutes are left for the next time. In a transaction of
 * its own. */
int template_uses_count(struct db *db, struct error **err);
