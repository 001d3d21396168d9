-- Another number with each change of what is shown of a sandbox, so that whoever has written it before need
-- not read the row again. No number is ever used twice, also when the database is put back to an older state.
ALTER TABLE sandboxes ADD COLUMN version BIGINT UNSIGNED NOT NULL DEFAULT 0;
