-- Tokens that live as long as their sandbox carry this number; who moves it on ends them.
ALTER TABLE sandboxes ADD COLUMN session_epoch INT UNSIGNED NOT NULL DEFAULT 0;

-- Whether every port that is not reserved is exposed to everybody.
ALTER TABLE sandboxes ADD COLUMN all_ports BOOL NOT NULL DEFAULT FALSE;
