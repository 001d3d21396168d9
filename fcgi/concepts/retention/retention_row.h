/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For this folder only. */
#pragma once

#include "retention/retention.h"

#define RETENTION_HOLDERS 100 /* teams or sandboxes whose rows one call deletes */

/* Select versions to which no row refers, from template_versions v and templates t. The last
 * version stays until its template is deleted, because the next version gets the number after it.
 * The slug of a deleted template is its id. */
#define RETENTION_FREE_VERSION                                                              \
    " AND (t.slug = t.id OR EXISTS (SELECT 1 FROM template_versions n"                      \
    "  WHERE n.template_id = v.template_id AND n.version > v.version))"                     \
    " AND NOT EXISTS (SELECT 1 FROM sandboxes s WHERE s.template_version_id = v.id)"        \
    " AND NOT EXISTS (SELECT 1 FROM checkpoints c WHERE c.template_version_id = v.id)"      \
    " AND NOT EXISTS (SELECT 1 FROM template_tags g WHERE g.template_version_id = v.id)"    \
    " AND NOT EXISTS (SELECT 1 FROM template_sources o WHERE o.template_version_id = v.id)" \
    " AND NOT EXISTS (SELECT 1 FROM template_recipes r WHERE r.template_version_id = v.id"  \
    "  AND r.state <> 'done')"

/* Delete the listed rows and the rows that depend on them. Each is deleted by its key, so that rows
 * next to it are not locked. *gone: the number of listed rows. */
typedef int retention_remove_listed(struct db *db, struct db_rows *rows, uint64_t *gone,
                                    struct error **err);
retention_remove_listed retention_remove_sandboxes; /* rows: one id */
retention_remove_listed retention_remove_versions;  /* rows: ids of a version and its template */

/* Delete ended rows beyond RETENTION_TEAM_MAX and RETENTION_OPERATIONS_MAX. *more is set as in
 * retention_remove(). */
int retention_team_remove(struct db *db, bool *more, struct error **err);
