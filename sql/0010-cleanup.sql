-- How long a plan keeps what nobody uses: days since the stop or the making, 0: for ever. Nothing is
-- removed before cleanup_at_ms has stood in its record for cleanup_warning_hours.
ALTER TABLE plans
    ADD COLUMN stopped_days INT UNSIGNED NOT NULL DEFAULT 0,
    ADD COLUMN checkpoint_days INT UNSIGNED NOT NULL DEFAULT 0,
    ADD COLUMN cleanup_warning_hours INT UNSIGNED NOT NULL DEFAULT 168;
UPDATE plans SET stopped_days = 30, checkpoint_days = 90, cleanup_warning_hours = 72 WHERE name = 'basic';
UPDATE plans SET stopped_days = 90, checkpoint_days = 365 WHERE name = 'pro';
UPDATE plans SET stopped_days = 365 WHERE name = 'enterprise';

ALTER TABLE sandboxes ADD COLUMN cleanup_at_ms BIGINT NULL;
CREATE INDEX sandboxes_cleanup ON sandboxes (state, cleanup_at_ms, stopped_at_ms);
CREATE INDEX sandboxes_stopped ON sandboxes (state, team_id, stopped_at_ms, id);

ALTER TABLE checkpoints ADD COLUMN cleanup_at_ms BIGINT NULL;
CREATE INDEX checkpoints_cleanup ON checkpoints (state, cleanup_at_ms, created_at_ms);
