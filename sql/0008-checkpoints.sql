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

-- What a version is built from: a checkpoint, or an image by name. A version that the API was asked
-- for is built by the first dispatcher that takes it; the holder works on it until lease_until_ms.
-- NULL there: sandlotctl builds it itself. state: building, ready, failed, and after its deletion
-- deleting (its sources are still on their hosts), then deleted; such a row stays for those that
-- remember it.
ALTER TABLE template_versions
    ADD COLUMN checkpoint_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NULL,
    ADD COLUMN holder VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    ADD COLUMN lease_until_ms BIGINT NULL,
    ADD COLUMN attempts INT UNSIGNED NOT NULL DEFAULT 0,
    ADD COLUMN build_log TEXT NULL,
    ADD COLUMN finished_at_ms BIGINT NULL;
CREATE INDEX template_versions_work ON template_versions (state, lease_until_ms);
CREATE INDEX template_versions_checkpoint ON template_versions (checkpoint_id, state);

-- Images of the hosts that every team may build templates from, by alias or fingerprint.
CREATE TABLE allowed_images (
    name VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    created_at_ms BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
