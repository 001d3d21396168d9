-- Instances that run already and wait for a sandbox to claim them. state: starting, ready,
-- leaving. Until lease_until_ms the holder works on one that is starting or leaving.
CREATE TABLE warm_instances (
    instance_name VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    template_version_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    host_id INT UNSIGNED NOT NULL,
    address INT UNSIGNED NOT NULL,
    agent_key_id SMALLINT UNSIGNED NOT NULL,
    cpu INT UNSIGNED NOT NULL,
    memory_mb INT UNSIGNED NOT NULL,
    disk_gb INT UNSIGNED NOT NULL,
    state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    lease_until_ms BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    KEY warm_instances_claim (template_version_id, state, created_at_ms),
    KEY warm_instances_lease (state, lease_until_ms),
    CONSTRAINT warm_instances_host FOREIGN KEY (host_id) REFERENCES hosts (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
