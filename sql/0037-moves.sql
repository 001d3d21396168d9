-- What a host's packet filter and relay let through; NULL: its own range alone. Sandboxes whose address
-- is in it may move there.
ALTER TABLE hosts
    ADD COLUMN network VARCHAR(18) CHARACTER SET ascii COLLATE ascii_bin NULL,
    -- It is being emptied: what can move to other hosts does.
    ADD COLUMN leaving TINYINT UNSIGNED NOT NULL DEFAULT 0;

-- Of a move: the host that the sandbox goes to.
ALTER TABLE operations
    ADD COLUMN host_id INT UNSIGNED NULL;
