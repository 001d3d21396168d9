-- The schema of the first version. Times are milliseconds since 1970 UTC (…_at_ms), identifiers are
-- the ones of the API, with their prefix. Only what MariaDB 10.6 and MySQL 8.0 both speak.

-- Plans and prices: rows that the operator edits (sandlotctl plan set).
CREATE TABLE plans (
    name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    position INT UNSIGNED NOT NULL,
    resource_override TINYINT UNSIGNED NOT NULL,
    cpu_default INT UNSIGNED NOT NULL,
    memory_mb_default INT UNSIGNED NOT NULL,
    cpu_values VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    memory_mb_min INT UNSIGNED NOT NULL,
    memory_mb_max INT UNSIGNED NOT NULL,
    memory_mb_increment INT UNSIGNED NOT NULL,
    disk_gb INT UNSIGNED NOT NULL,
    max_timeout_s INT UNSIGNED NOT NULL,
    sandboxes INT UNSIGNED NOT NULL,
    vcpus INT UNSIGNED NOT NULL,
    memory_mb INT UNSIGNED NOT NULL,
    stopped_sandboxes INT UNSIGNED NOT NULL,
    volumes INT UNSIGNED NOT NULL,
    volume_gb INT UNSIGNED NOT NULL,
    checkpoints INT UNSIGNED NOT NULL,
    currency CHAR(3) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    vcpu_hour VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    memory_gb_hour VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    storage_gb_month VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

INSERT INTO plans VALUES
    ('basic', 1, 0, 1, 512, '1,2', 256, 2048, 128, 10, 3600, 20, 40, 40960, 50, 10, 5, 20, 'USD', '0.0504', '0.0162', '0.08'),
    ('pro', 2, 1, 1, 512, '1,2,4,8', 256, 16384, 128, 20, 86400, 100, 200, 204800, 500, 100, 20, 200, 'USD', '0.0504', '0.0162', '0.08'),
    ('enterprise', 3, 1, 1, 512, '1,2,4,8,16', 256, 65536, 128, 40, 604800, 1000, 2000, 2097152, 5000, 1000, 100, 2000, 'USD', '0.0504', '0.0162', '0.08');

CREATE TABLE teams (
    id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    slug VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    plan VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_at_ms BIGINT NOT NULL,
    UNIQUE KEY teams_slug (slug),
    CONSTRAINT teams_plan FOREIGN KEY (plan) REFERENCES plans (name)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE users (
    id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    name VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    personal_team_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_at_ms BIGINT NOT NULL,
    UNIQUE KEY users_name (name),
    CONSTRAINT users_personal_team FOREIGN KEY (personal_team_id) REFERENCES teams (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE memberships (
    user_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    PRIMARY KEY (user_id, team_id),
    CONSTRAINT memberships_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT memberships_team FOREIGN KEY (team_id) REFERENCES teams (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The secret of a key is stored as a keyed hash only; lookup is the public part of the key.
CREATE TABLE api_keys (
    id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    lookup CHAR(12) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    user_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    name VARCHAR(64) NOT NULL,
    can_write TINYINT UNSIGNED NOT NULL,
    all_teams TINYINT UNSIGNED NOT NULL,
    hash_key_id SMALLINT UNSIGNED NOT NULL,
    hash BINARY(32) NOT NULL,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NULL,
    revoked_at_ms BIGINT NULL,
    last_used_at_ms BIGINT NULL,
    UNIQUE KEY api_keys_lookup (lookup),
    CONSTRAINT api_keys_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The teams of a key that does not reach all teams of its user.
CREATE TABLE api_key_teams (
    api_key_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    PRIMARY KEY (api_key_id, team_id),
    CONSTRAINT api_key_teams_key FOREIGN KEY (api_key_id) REFERENCES api_keys (id) ON DELETE CASCADE,
    CONSTRAINT api_key_teams_team FOREIGN KEY (team_id) REFERENCES teams (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- owner: a team, or '' for a template of the deployment itself, which everyone sees.
CREATE TABLE templates (
    id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    owner CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    slug VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_at_ms BIGINT NOT NULL,
    UNIQUE KEY templates_slug (owner, slug)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- state: building, ready, failed. Versions never change once they are ready.
CREATE TABLE template_versions (
    id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    template_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    version INT UNSIGNED NOT NULL,
    state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    virtual_machine TINYINT UNSIGNED NOT NULL,
    cpu INT UNSIGNED NOT NULL,
    memory_mb INT UNSIGNED NOT NULL,
    image VARCHAR(255) NOT NULL,
    fingerprint VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    created_at_ms BIGINT NOT NULL,
    UNIQUE KEY template_versions_number (template_id, version),
    CONSTRAINT template_versions_template FOREIGN KEY (template_id) REFERENCES templates (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Runtime hosts. state: active, draining.
CREATE TABLE hosts (
    id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    url VARCHAR(255) NOT NULL,
    server_cert TEXT NULL,
    project VARCHAR(63) NOT NULL,
    pool VARCHAR(63) NOT NULL,
    nic_prefix VARCHAR(2) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    address_range VARCHAR(18) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    vcpus INT UNSIGNED NOT NULL,
    memory_mb INT UNSIGNED NOT NULL,
    created_at_ms BIGINT NOT NULL,
    UNIQUE KEY hosts_name (name)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Each address of a host's range is a row, claimed by the name of the instance that uses it. The
-- longest free one is taken first, so that no stale neighbour entry meets a new instance.
CREATE TABLE host_addresses (
    host_id INT UNSIGNED NOT NULL,
    address INT UNSIGNED NOT NULL,
    holder VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NULL,
    released_at_ms BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (host_id, address),
    KEY host_addresses_free (host_id, holder, released_at_ms),
    CONSTRAINT host_addresses_host FOREIGN KEY (host_id) REFERENCES hosts (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Where the source instance of a template version stands ready to be copied.
CREATE TABLE template_sources (
    template_version_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    host_id INT UNSIGNED NOT NULL,
    instance_name VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    PRIMARY KEY (template_version_id, host_id),
    CONSTRAINT template_sources_version FOREIGN KEY (template_version_id) REFERENCES template_versions (id),
    CONSTRAINT template_sources_host FOREIGN KEY (host_id) REFERENCES hosts (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- state: creating, ready, restoring, checkpointing, stopping, stopped; destroying and destroyed are
-- never shown. visible is 1 until the sandbox is deleted, reserved is 1 while it holds runtime
-- quota. incarnation counts lifecycle moves: a result counts only if it still is the same one.
CREATE TABLE sandboxes (
    id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    team_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_by CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    route CHAR(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    visible TINYINT UNSIGNED NOT NULL,
    reserved TINYINT UNSIGNED NOT NULL,
    incarnation INT UNSIGNED NOT NULL,
    operation_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NULL,
    template_slug VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    template_version_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    snapshot_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NULL,
    timeout_s INT UNSIGNED NOT NULL,
    deadline_at_ms BIGINT NULL,
    on_timeout VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    auto_resume TINYINT UNSIGNED NOT NULL,
    cpu INT UNSIGNED NOT NULL,
    memory_mb INT UNSIGNED NOT NULL,
    disk_gb INT UNSIGNED NOT NULL,
    metadata MEDIUMTEXT NOT NULL,
    volume_mounts TEXT NOT NULL,
    network TEXT NOT NULL,
    network_status VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    allow_public_traffic TINYINT UNSIGNED NOT NULL,
    envs_sealed MEDIUMBLOB NULL,
    host_id INT UNSIGNED NOT NULL,
    instance_name VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    address INT UNSIGNED NOT NULL,
    agent_key_id SMALLINT UNSIGNED NOT NULL,
    resumed_from VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    stopped_at_ms BIGINT NULL,
    destroyed_at_ms BIGINT NULL,
    UNIQUE KEY sandboxes_route (route),
    UNIQUE KEY sandboxes_instance (instance_name),
    KEY sandboxes_list (team_id, visible, id),
    KEY sandboxes_quota (team_id, reserved, cpu, memory_mb),
    KEY sandboxes_host (host_id, reserved, cpu, memory_mb),
    KEY sandboxes_deadline (state, deadline_at_ms),
    CONSTRAINT sandboxes_team FOREIGN KEY (team_id) REFERENCES teams (id),
    CONSTRAINT sandboxes_version FOREIGN KEY (template_version_id) REFERENCES template_versions (id),
    CONSTRAINT sandboxes_host FOREIGN KEY (host_id) REFERENCES hosts (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE exposed_ports (
    sandbox_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    port SMALLINT UNSIGNED NOT NULL,
    protocol VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    public TINYINT UNSIGNED NOT NULL,
    PRIMARY KEY (sandbox_id, port),
    CONSTRAINT exposed_ports_sandbox FOREIGN KEY (sandbox_id) REFERENCES sandboxes (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Lifecycle operations in flight and their history. state: running, done, failed, superseded. The
-- holder works on it until lease_until_ms; after that any dispatcher takes it over.
CREATE TABLE operations (
    id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    sandbox_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    kind VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    incarnation INT UNSIGNED NOT NULL,
    holder VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    lease_until_ms BIGINT NOT NULL,
    attempts INT UNSIGNED NOT NULL,
    last_error VARCHAR(512) NOT NULL DEFAULT '',
    created_at_ms BIGINT NOT NULL,
    finished_at_ms BIGINT NULL,
    KEY operations_sandbox (sandbox_id, id),
    KEY operations_lease (state, lease_until_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
