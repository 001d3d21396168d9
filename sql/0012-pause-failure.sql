-- What a pause that cannot keep the memory does: stop with the disk only, or not at all; and how many
-- in a row have failed, by which the next one at the deadline waits longer.
ALTER TABLE sandboxes
    ADD COLUMN on_pause_failure VARCHAR(12) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'disk',
    ADD COLUMN pause_failures INT UNSIGNED NOT NULL DEFAULT 0;
