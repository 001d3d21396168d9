-- How much of its memory a host may promise, in per cent, and whether it has so little left, whoever
-- uses it, that it takes no new sandboxes.
ALTER TABLE hosts
    ADD COLUMN memory_overcommit SMALLINT UNSIGNED NOT NULL DEFAULT 100 AFTER memory_mb,
    ADD COLUMN memory_low TINYINT UNSIGNED NOT NULL DEFAULT 0 AFTER memory_overcommit;
