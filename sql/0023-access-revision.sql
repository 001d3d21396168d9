-- The number of changes of keys, users, members and teams: while it stands, what a worker has read
-- of them holds. One row.
CREATE TABLE access_revision (
    id TINYINT UNSIGNED NOT NULL PRIMARY KEY,
    revision BIGINT UNSIGNED NOT NULL
) ENGINE=InnoDB;
INSERT INTO access_revision (id, revision) VALUES (1, 1);
