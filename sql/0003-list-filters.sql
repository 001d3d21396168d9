-- What the filters of the list need. Keys and values are compared byte by byte, so that trailing
-- blanks count, which no collation that both servers know would do.
CREATE TABLE sandbox_metadata (
    sandbox_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    name VARBINARY(256) NOT NULL,
    team_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    value VARBINARY(2048) NOT NULL,
    PRIMARY KEY (sandbox_id, name),
    KEY sandbox_metadata_match (team_id, name, value, sandbox_id),
    CONSTRAINT sandbox_metadata_sandbox FOREIGN KEY (sandbox_id) REFERENCES sandboxes (id) ON DELETE CASCADE
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE INDEX sandboxes_list_state ON sandboxes (team_id, state, id);
