-- Volumes. state: creating, ready, deleting, deleted; whoever makes or removes one has it until
-- lease_until_ms. taken is 1 while the name belongs to the volume, then NULL. generation counts the
-- attachments: what was allowed before one is not allowed after it. keeper_epoch names the keeper
-- process that was last told of a generation, '' when there is nobody to tell.
CREATE TABLE volumes (
    id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    team_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_by CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    name VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    taken TINYINT UNSIGNED NULL,
    state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    visible TINYINT UNSIGNED NOT NULL,
    host_id INT UNSIGNED NOT NULL,
    size_gb INT UNSIGNED NOT NULL,
    generation BIGINT UNSIGNED NOT NULL,
    keeper_epoch VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    files_used_at_ms BIGINT NOT NULL,
    lease_until_ms BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    deleted_at_ms BIGINT NULL,
    UNIQUE KEY volumes_name (team_id, name, taken),
    KEY volumes_list (team_id, visible, id),
    KEY volumes_lease (state, lease_until_ms),
    KEY volumes_host (host_id, taken, size_gb),
    CONSTRAINT volumes_team FOREIGN KEY (team_id) REFERENCES teams (id),
    CONSTRAINT volumes_host FOREIGN KEY (host_id) REFERENCES hosts (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Which sandboxes mount a volume, from their create to the end of their instance; where they do is
-- in their own row.
CREATE TABLE sandbox_volumes (
    team_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    volume_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    sandbox_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    PRIMARY KEY (team_id, volume_id, sandbox_id),
    KEY sandbox_volumes_sandbox (sandbox_id),
    CONSTRAINT sandbox_volumes_volume FOREIGN KEY (volume_id) REFERENCES volumes (id),
    CONSTRAINT sandbox_volumes_sandbox FOREIGN KEY (sandbox_id) REFERENCES sandboxes (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The instance on a host through which the files of its volumes are reached.
CREATE TABLE keepers (
    host_id INT UNSIGNED NOT NULL PRIMARY KEY,
    instance_name VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    address INT UNSIGNED NOT NULL,
    secret_key_id SMALLINT UNSIGNED NOT NULL,
    created_at_ms BIGINT NOT NULL,
    CONSTRAINT keepers_host FOREIGN KEY (host_id) REFERENCES hosts (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
