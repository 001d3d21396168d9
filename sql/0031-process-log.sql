-- How much of what the processes of a sandbox wrote is kept in its memory, for its logs and for clients whose
-- connection broke.
ALTER TABLE plans ADD COLUMN process_log_kib INT UNSIGNED NOT NULL DEFAULT 1024;
UPDATE plans SET process_log_kib = 4096 WHERE name = 'enterprise';
