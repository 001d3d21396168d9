-- Each key of the deployment's key ring, by a fingerprint: what tells a front that its file is another
-- one. in_use 0: it is known, and no front seals with it yet.
CREATE TABLE keyring_keys (
    key_id SMALLINT UNSIGNED NOT NULL PRIMARY KEY,
    fingerprint BINARY(32) NOT NULL,
    in_use TINYINT UNSIGNED NOT NULL,
    added_at_ms BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The machines that the control plane runs on, and those of their settings that must be the same on all,
-- as a dispatcher there last said.
CREATE TABLE fronts (
    name VARCHAR(64) NOT NULL PRIMARY KEY,
    settings TEXT NOT NULL,
    seen_at_ms BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
