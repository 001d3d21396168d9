-- What one process of the deployment does at a time, until a time that it puts off while it lives. The row
-- 'database.writer' names the node of a Galera cluster that takes the writes, and has no time.
CREATE TABLE leases (
    name VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    holder VARCHAR(128) NOT NULL,
    until_ms BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
