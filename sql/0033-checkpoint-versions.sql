-- A name that is given again makes the next version of it: names are of a team, across its sandboxes.
-- Those of deleted checkpoints stay, so that no version is given twice.
ALTER TABLE checkpoints ADD COLUMN version INT UNSIGNED NOT NULL DEFAULT 1;

UPDATE checkpoints c
    JOIN (SELECT id, ROW_NUMBER() OVER (PARTITION BY team_id, name ORDER BY id) AS number
        FROM checkpoints WHERE name IS NOT NULL) numbered ON numbered.id = c.id
    SET c.version = numbered.number;

ALTER TABLE checkpoints
    DROP KEY checkpoints_name,
    ADD UNIQUE KEY checkpoints_name (team_id, name, version);
