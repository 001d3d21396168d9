-- More ports stand in a row, each with whether its server speaks TLS: "3000/1,8443/3" (1: public, 2: TLS);
-- and what servers in the sandbox see as Host, when that is not the preview's own name.
ALTER TABLE sandboxes
    MODIFY COLUMN ports VARCHAR(1600) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    ADD COLUMN request_host VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '' AFTER ports;

-- Whose samples somebody has asked for lately; they are taken more often.
CREATE TABLE sample_wants (
    sandbox_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    asked_at_ms BIGINT NOT NULL,
    KEY sample_wants_asked (asked_at_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
