-- Machines that become hosts: one row for each token of `sandlotctl host token`, of whose secret there is a
-- keyed hash. state: waiting (nobody has shown it), taken (a machine has, and sets itself up), trial (it
-- says that it is ready), active. since_ms: in that state since.
CREATE TABLE host_joins (
    id VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    hash_key_id SMALLINT UNSIGNED NOT NULL,
    hash BINARY(32) NOT NULL,
    name VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    -- What its row in hosts will say, as far as the operator said it.
    options TEXT NOT NULL,
    -- What its relay and its Incus are given, sealed; it goes when the host is active.
    sealed BLOB NULL,
    -- Of a secret of the machine that has taken it: no other one gets any answer.
    machine BINARY(32) NULL,
    address VARCHAR(45) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    since_ms BIGINT NOT NULL,
    failure VARCHAR(1000) NOT NULL DEFAULT '',
    -- From then on it is not taken any more, and what was taken does not go on.
    expires_at_ms BIGINT NOT NULL,
    lease_owner VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
    lease_until_ms BIGINT NOT NULL DEFAULT 0,
    attempts INT UNSIGNED NOT NULL DEFAULT 0,
    UNIQUE KEY host_joins_name (name),
    KEY host_joins_due (state, lease_until_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
