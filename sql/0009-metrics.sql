-- What running sandboxes used, a row a look; kept for metrics_retention_h hours. span_ms: what
-- cpu_ms is the processor time of, up to at_ms; 0: not known, as for the first look after a start.
-- disk_bytes NULL: not looked at yet.
CREATE TABLE sandbox_samples (
    sandbox_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    at_ms BIGINT NOT NULL,
    span_ms INT UNSIGNED NOT NULL,
    cpu_ms INT UNSIGNED NOT NULL,
    memory_bytes BIGINT UNSIGNED NOT NULL,
    cache_bytes BIGINT UNSIGNED NOT NULL,
    disk_bytes BIGINT UNSIGNED NULL,
    PRIMARY KEY (sandbox_id, at_ms),
    KEY sandbox_samples_at (at_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
