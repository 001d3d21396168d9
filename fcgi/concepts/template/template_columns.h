/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared parts of the statements on template versions; for *_db.c files only. */
#pragma once

/* The versions that are shown to clients, and the columns for template_row_read(). */
#define TEMPLATE_SHOWN " v.state IN ('building', 'ready', 'failed')"
#define TEMPLATE_COLUMNS                                                                          \
    "SELECT v.id, v.template_id, t.owner, o.slug, t.slug, v.version, v.state, v.virtual_machine," \
    " v.cpu, v.memory_mb, v.image, v.fingerprint, v.created_at_ms, t.created_at_ms,"              \
    " v.checkpoint_id, v.finished_at_ms, v.net_admin, t.is_public, v.size_mb,"                    \
    " v.base_version_id, v.copied_host_id, v.copied_instance, v.from_image, v.start,"             \
    " v.memory_id"                                                                                \
    " FROM template_versions v JOIN templates t ON t.id = v.template_id"                          \
    " JOIN teams o ON o.id = t.owner"

#define TEMPLATE_DEFAULT_OF                             \
    "SELECT d.template_version_id FROM template_tags d" \
    " WHERE d.tag = 'default' AND d.template_id = "
#define TEMPLATE_NEWEST_OF \
    "SELECT w.id FROM template_versions w WHERE w.state = 'ready' AND w.template_id = "
/* The id of the version that a template's name alone means: the version of its tag `default`, else
 * the newest ready one. id: an expression for the template's id. */
#define TEMPLATE_MEANT(id)                                           \
    "COALESCE((" TEMPLATE_DEFAULT_OF id "), (" TEMPLATE_NEWEST_OF id \
    " ORDER BY w.version DESC LIMIT 1))"
