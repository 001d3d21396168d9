-- Checkpoints in the archive, with the kind `checkpoint` in archives. archived: as in sandboxes.
ALTER TABLE checkpoints
    ADD COLUMN archived TINYINT UNSIGNED NOT NULL DEFAULT 0,
    ADD KEY checkpoints_archive (team_id, archived, state, created_at_ms);
