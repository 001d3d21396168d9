-- What moves to another host beside stopped sandboxes: checkpoints, volumes, the sources of template
-- versions, and sandboxes that run and go on there (kind sandbox). id is that of what moves.
-- state: copying; copied (a volume that waits for the others of its group, which are there at once);
-- clearing: what lies on clear_host_id is to be removed, be it the old one or what a move that failed
-- has left; failed. asked is 1 where somebody waits for it. generation: of a volume, while it is
-- this nothing has been written to it; of a sandbox, how far it is. deadline_at_ms: of a sandbox, what it had.
CREATE TABLE moves (
    id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    kind VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    group_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    asked TINYINT UNSIGNED NOT NULL,
    from_host_id INT UNSIGNED NOT NULL,
    to_host_id INT UNSIGNED NOT NULL,
    clear_host_id INT UNSIGNED NOT NULL DEFAULT 0,
    generation BIGINT UNSIGNED NOT NULL DEFAULT 0,
    deadline_at_ms BIGINT NOT NULL DEFAULT 0,
    lease_owner VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    lease_until_ms BIGINT NOT NULL DEFAULT 0,
    attempts INT UNSIGNED NOT NULL DEFAULT 0,
    last_error VARCHAR(512) NOT NULL DEFAULT '',
    created_at_ms BIGINT NOT NULL,
    finished_at_ms BIGINT NOT NULL DEFAULT 0,
    KEY moves_work (state, asked, lease_until_ms),
    KEY moves_group (group_id),
    KEY moves_team (team_id, state)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
