-- Sandboxes whose hosts have given them their size at a hand-over, of which Incus is still to be told.
-- lease_owner '': nobody is at it; due_at_ms: when a dispatcher is, or until when the owner is.
CREATE TABLE sandbox_sizes (
    sandbox_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    due_at_ms BIGINT NOT NULL,
    lease_owner VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    attempts INT UNSIGNED NOT NULL DEFAULT 0,
    KEY sandbox_sizes_due (due_at_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
