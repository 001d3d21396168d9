/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For this folder only. */
#pragma once

#include "retention/retention.h"

#define RETENTION_HOLDERS 100 /* teams or sandboxes that are looked at in one turn */

/* Of template_versions v and templates t: a version that no row names. The last version stays
 * as long as its template is not deleted, because the next version gets the number after it. The
 * slug of a deleted template is its id. */
#define RETENTION_FREE_VERSION                                                              \
    " AND (t.slug = t.id OR EXISTS (SELECT 1 FROM template_versions n"                      \
    "  WHERE n.template_id = v.template_id AND n.version > v.version))"                     \
    " AND NOT EXISTS (SELECT 1 FROM sandboxes s WHERE s.template_version_id = v.id)"        \
    " AND NOT EXISTS (SELECT 1 FROM checkpoints c WHERE c.template_version_id = v.id)"      \
    " AND NOT EXISTS (SELECT 1 FROM template_tags g WHERE g.template_version_id = v.id)"    \
    " AND NOT EXISTS (SELECT 1 FROM template_sources o WHERE o.template_version_id = v.id)" \
    " AND NOT EXISTS (SELECT 1 FROM template_recipes r WHERE r.template_version_id = v.id"  \
    "  AND r.state <> 'done')"

/* Remove the listed rows with what hangs on them, each by its key: rows next to them are not
 * locked. *gone: how many rows were listed. */
typedef int retention_remove_listed(struct db *db, struct db_rows *rows, uint64_t *gone,
                                    struct error **err);
retention_remove_listed retention_remove_sandboxes; /* an id each */
retention_remove_listed retention_remove_versions;  /* the ids of a version and its template */

/* Remove ended rows beyond RETENTION_TEAM_MAX and RETENTION_OPERATIONS_MAX. more as in
 * retention_remove(). */
int retention_team_remove(struct db *db, bool *more, struct error **err);
