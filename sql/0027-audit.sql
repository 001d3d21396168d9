-- Who did what to which resource, when, from where, and how it ended. Rows are added and read; the
-- login of the programs may do nothing else with these two tables (sandlotctl migrate sees to that).
-- mac proves that a row is as it was written. begun_id: the row of the beginning of what this row ends.
CREATE TABLE audit_log (
    id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    at_ms BIGINT NOT NULL,
    team_id VARCHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    action VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    resource VARCHAR(255) NOT NULL,
    actor_kind VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    actor_id VARCHAR(64) NOT NULL,
    user_id VARCHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    address VARCHAR(45) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    request_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    result VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    error VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    begun_id VARCHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    mac_key_id SMALLINT UNSIGNED NOT NULL,
    mac BINARY(32) NOT NULL,
    KEY audit_log_team (team_id, id),
    KEY audit_log_resource (resource, id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The rows of audit_log in the order in which they were found to be committed, each bound to all
-- before it by its hash.
CREATE TABLE audit_chain (
    seq BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    audit_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    team_id VARCHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    at_ms BIGINT NOT NULL,
    row_mac BINARY(32) NOT NULL,
    hash_key_id SMALLINT UNSIGNED NOT NULL,
    hash BINARY(32) NOT NULL,
    UNIQUE KEY audit_chain_row (audit_id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- How many days of its log a team keeps.
ALTER TABLE plans ADD COLUMN audit_days INT UNSIGNED NOT NULL DEFAULT 90;
UPDATE plans SET audit_days = 365 WHERE name = 'enterprise';

-- What ends rows: it runs with the rights of the login that migrates, and whatever it is asked for it
-- leaves what is younger than 30 days.
CREATE PROCEDURE audit_prune(IN of_team VARCHAR(30) CHARACTER SET ascii, IN before_ms BIGINT, IN most INT UNSIGNED)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    DELETE FROM audit_log WHERE team_id = of_team COLLATE ascii_bin AND at_ms < before_ms
        AND at_ms < (UNIX_TIMESTAMP() - 30 * 86400) * 1000 ORDER BY id LIMIT most;

-- The same for the beginning of the chain, of which no row is left.
CREATE PROCEDURE audit_trim(IN before_seq BIGINT UNSIGNED)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    DELETE FROM audit_chain WHERE seq < before_seq AND at_ms < (UNIX_TIMESTAMP() - 30 * 86400) * 1000
        AND NOT EXISTS (SELECT 1 FROM audit_log WHERE audit_log.id = audit_chain.audit_id);

-- A team that was removed: its rows of usage stay, and its slug is free again.
ALTER TABLE teams ADD COLUMN removed_at_ms BIGINT NULL;
