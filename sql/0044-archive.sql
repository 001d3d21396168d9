-- Copies of paused sandboxes in storage off the hosts. kind: sandbox. current_of: what it is the copy of, while it is or
-- is to be one; NULL once that has gone on. state: storing, whole, removing. object_key: in the storage, of the last
-- attempt; upload: its name there until it is whole. promised_host_id: the host that is to have the sandbox instead of
-- one that is lost.
CREATE TABLE archives (
    id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    kind VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    object_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    current_of CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NULL,
    team_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    incarnation INT UNSIGNED NOT NULL,
    promised_host_id INT UNSIGNED NULL,
    object_key VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
    upload VARCHAR(1024) CHARACTER SET ascii COLLATE ascii_bin NULL,
    plain_bytes BIGINT UNSIGNED NOT NULL DEFAULT 0,
    stored_bytes BIGINT UNSIGNED NOT NULL DEFAULT 0,
    failure VARCHAR(512) NOT NULL DEFAULT '',
    lease_owner VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    lease_until_ms BIGINT NULL,
    attempts INT UNSIGNED NOT NULL DEFAULT 0,
    created_at_ms BIGINT NOT NULL,
    whole_at_ms BIGINT NULL,
    UNIQUE KEY archives_current (current_of),
    UNIQUE KEY archives_key (object_key),
    KEY archives_work (state, lease_until_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- archived: 0 a copy may be wanted, 1 there is a row of one, 2 none can be made. Teams have their turns one after the
-- other.
ALTER TABLE sandboxes
    ADD COLUMN archived TINYINT UNSIGNED NOT NULL DEFAULT 0,
    ADD KEY sandboxes_archive (team_id, archived, state, stopped_at_ms);
ALTER TABLE teams ADD COLUMN archive_turn_ms BIGINT NOT NULL DEFAULT 0;
