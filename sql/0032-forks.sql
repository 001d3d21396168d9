-- Checkpoints with memory: agent_instance and agent_key_id say which secret the agent in it knows. Those
-- that a fork makes for itself are shown to nobody (state `forking` once they are whole, until
-- lease_until_ms).
ALTER TABLE checkpoints
    ADD COLUMN memory TINYINT UNSIGNED NOT NULL DEFAULT 0,
    ADD COLUMN for_fork TINYINT UNSIGNED NOT NULL DEFAULT 0,
    ADD COLUMN agent_instance VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    ADD COLUMN agent_key_id SMALLINT UNSIGNED NOT NULL DEFAULT 0;

-- Which sandbox it was forked from; what it was copied from stands in snapshot_id.
ALTER TABLE sandboxes
    ADD COLUMN forked_from CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NULL;
