-- How many sandboxes were made of a template, counted from their rows; template_uses, one row: up to which.
ALTER TABLE templates
    ADD COLUMN sandboxes_made BIGINT UNSIGNED NOT NULL DEFAULT 0,
    ADD COLUMN last_made_at_ms BIGINT NOT NULL DEFAULT 0;

CREATE TABLE template_uses (
    id TINYINT UNSIGNED NOT NULL PRIMARY KEY,
    counted_before CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT INTO template_uses (id, counted_before) VALUES (1, '');
