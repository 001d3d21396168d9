-- Network policies. network is the wish and network_revision counts its changes; network_applied is
-- the revision that the firewall is known to have, 0: none. At network_due_at_ms a dispatcher tries
-- again to make them one; NULL: nothing is due.
ALTER TABLE sandboxes
    MODIFY network MEDIUMTEXT NOT NULL,
    DROP COLUMN network_status,
    ADD COLUMN network_revision BIGINT UNSIGNED NOT NULL DEFAULT 1,
    ADD COLUMN network_applied BIGINT UNSIGNED NOT NULL DEFAULT 0,
    ADD COLUMN network_due_at_ms BIGINT NULL,
    ADD KEY sandboxes_network_due (network_due_at_ms);
UPDATE sandboxes SET network_due_at_ms = 0 WHERE visible = 1 AND reserved = 1;

-- Where the host's firewall listens; NULL: it has none, and its sandboxes stay closed.
ALTER TABLE hosts ADD COLUMN firewall_url VARCHAR(255) NULL;

-- policy_of: a sandbox that is gone and whose policy may still stand in the firewall. Such an
-- address is given to nobody; at policy_due_at_ms a dispatcher tries again to have it removed.
ALTER TABLE host_addresses
    ADD COLUMN policy_of CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NULL,
    ADD COLUMN policy_due_at_ms BIGINT NULL,
    ADD KEY host_addresses_policy (policy_due_at_ms);

-- Named lists of entries that a policy may include. The entries are a JSON array.
CREATE TABLE egress_profiles (
    name VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    entries MEDIUMTEXT NOT NULL,
    updated_at_ms BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What allow_package_registry_access stands for: always there, and filled by the operator.
INSERT INTO egress_profiles VALUES ('package-registries', '[]', 0);

-- Which sandboxes follow a profile when it changes.
CREATE TABLE sandbox_egress_profiles (
    profile VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    sandbox_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    PRIMARY KEY (profile, sandbox_id),
    KEY sandbox_egress_profiles_sandbox (sandbox_id),
    CONSTRAINT sandbox_egress_profiles_profile FOREIGN KEY (profile) REFERENCES egress_profiles (name),
    CONSTRAINT sandbox_egress_profiles_sandbox FOREIGN KEY (sandbox_id) REFERENCES sandboxes (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT INTO sandbox_egress_profiles (profile, sandbox_id)
    SELECT 'package-registries', id FROM sandboxes
    WHERE visible = 1 AND JSON_EXTRACT(network, '$.allow_package_registry_access') = true;
