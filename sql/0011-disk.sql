-- The storage pool of each host as it was last looked at: how large it is, what is used of it, and
-- the disks and volumes that are promised on it. Whoever promises more holds the row to the end of
-- its transaction; what is given back is counted at the next look. No row: not known yet.
CREATE TABLE host_pools (
    host_id INT UNSIGNED NOT NULL PRIMARY KEY,
    total_mb BIGINT UNSIGNED NOT NULL,
    used_mb BIGINT UNSIGNED NOT NULL,
    promised_gb BIGINT UNSIGNED NOT NULL,
    measured_at_ms BIGINT NOT NULL,
    CONSTRAINT host_pools_host FOREIGN KEY (host_id) REFERENCES hosts (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- How many times its pool a host may promise; 0, as it was for those that are there: without end.
ALTER TABLE hosts ADD COLUMN disk_overcommit INT UNSIGNED NOT NULL DEFAULT 0;
CREATE INDEX sandboxes_disk ON sandboxes (host_id, state, disk_gb);

-- An interval of the kind `volume` is that of a volume: its id stands in sandbox_id, its size in
-- disk_gb. Volumes that are older count from now on.
INSERT INTO usage_intervals (sandbox_id, incarnation, team_id, kind, cpu, memory_mb, disk_gb, started_at_ms)
    SELECT id, 0, team_id, 'volume', 0, 0, size_gb, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)
    FROM volumes WHERE state = 'ready';
