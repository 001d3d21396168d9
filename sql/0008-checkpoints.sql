-- Checkpoints: named copies of a sandbox's disk, each a stopped instance of its own on its host.
-- state: creating, ready, deleting, deleted; only ready ones are shown. incarnation is that of the
-- sandbox while the checkpoint is made, which ties it to the operation that makes it. name becomes
-- NULL with the deletion, so that it is free again. A deleted row stays: what was restored from it
-- shares its data. size_mb is what the pool keeps for it beside its template. Until lease_until_ms
-- somebody is at work on its removal.
CREATE TABLE checkpoints (
    id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    team_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_by CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    sandbox_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    incarnation INT UNSIGNED NOT NULL,
    name VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NULL,
    state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    template_slug VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    template_version_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    parent_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NULL,
    cpu INT UNSIGNED NOT NULL,
    memory_mb INT UNSIGNED NOT NULL,
    disk_gb INT UNSIGNED NOT NULL,
    size_mb INT UNSIGNED NOT NULL,
    host_id INT UNSIGNED NOT NULL,
    instance_name VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    lease_until_ms BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    deleted_at_ms BIGINT NULL,
    UNIQUE KEY checkpoints_name (sandbox_id, name),
    UNIQUE KEY checkpoints_instance (instance_name),
    KEY checkpoints_list (team_id, state, id),
    KEY checkpoints_of_sandbox (sandbox_id, state, id),
    KEY checkpoints_work (state, lease_until_ms),
    KEY checkpoints_age (state, created_at_ms),
    CONSTRAINT checkpoints_team FOREIGN KEY (team_id) REFERENCES teams (id),
    CONSTRAINT checkpoints_version FOREIGN KEY (template_version_id) REFERENCES template_versions (id),
    CONSTRAINT checkpoints_host FOREIGN KEY (host_id) REFERENCES hosts (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Who was started from a checkpoint.
CREATE INDEX sandboxes_snapshot ON sandboxes (snapshot_id, state);

-- An interval of the kind `snapshot` is that of a checkpoint: its id stands in sandbox_id, what it
-- keeps in size_mb.
ALTER TABLE usage_intervals ADD COLUMN size_mb INT UNSIGNED NOT NULL DEFAULT 0;
