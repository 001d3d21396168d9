-- What only an administrator's program can look at, left for operators to read: the latest of each name.
CREATE TABLE reports (
    name VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    made_at_ms BIGINT NOT NULL,
    body MEDIUMTEXT NOT NULL
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
