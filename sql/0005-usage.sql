-- What a bill is made of. An acknowledged sandbox has one open interval until it is deleted:
-- `runtime` while it runs, `storage` while it is stopped with its disk. One ends where the next
-- begins, in the transaction of the move itself. ended_at_ms NULL: it goes on.
CREATE TABLE usage_intervals (
    sandbox_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    incarnation INT UNSIGNED NOT NULL,
    team_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    kind VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    cpu INT UNSIGNED NOT NULL,
    memory_mb INT UNSIGNED NOT NULL,
    disk_gb INT UNSIGNED NOT NULL,
    started_at_ms BIGINT NOT NULL,
    ended_at_ms BIGINT NULL,
    PRIMARY KEY (sandbox_id, incarnation),
    KEY usage_intervals_team (team_id, ended_at_ms, started_at_ms),
    CONSTRAINT usage_intervals_team FOREIGN KEY (team_id) REFERENCES teams (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
-- Sandboxes that are older than this table count from now on.
INSERT INTO usage_intervals (sandbox_id, incarnation, team_id, kind, cpu, memory_mb, disk_gb, started_at_ms)
    SELECT id, incarnation, team_id, IF(state IN ('stopped', 'restoring'), 'storage', 'runtime'), cpu,
        memory_mb, disk_gb, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)
    FROM sandboxes WHERE state IN ('ready', 'stopping', 'checkpointing', 'stopped', 'restoring');
