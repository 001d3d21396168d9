/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the statements on sandboxes share; for *_db.c files only. */
#pragma once

/* What a statement selects for sandbox_row_read(), and from where; conditions speak of s. */
#define SANDBOX_COLUMNS                                                                         \
    "s.id, s.team_id, t.slug, s.created_by, s.route, s.state, s.reserved, s.incarnation, "      \
    "s.operation_id,"                                                                           \
    " s.template_slug, s.template_version_id, s.snapshot_id, v.virtual_machine, s.timeout_s,"   \
    " s.deadline_at_ms, s.on_timeout, s.auto_resume, s.on_pause_failure, s.pause_failures, "    \
    "s.cpu, s.memory_mb, s.disk_gb, s.metadata,"                                                \
    " s.volume_mounts, s.network, s.network_revision, s.network_applied, s.network_due_at_ms, " \
    "s.allow_public_traffic, s.host_id,"                                                        \
    " s.instance_name, s.address, s.agent_key_id, s.resumed_from, s.created_at_ms,"             \
    " s.updated_at_ms, s.stopped_at_ms, s.cleanup_at_ms,"                                       \
    " (SELECT GROUP_CONCAT(CONCAT(p.port, '/', p.public) ORDER BY p.port)"                      \
    "    FROM exposed_ports p WHERE p.sandbox_id = s.id)"
#define SANDBOX_JOINS                   \
    " JOIN teams t ON t.id = s.team_id" \
    " JOIN template_versions v ON v.id = s.template_version_id"
