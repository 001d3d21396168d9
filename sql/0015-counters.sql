-- What is reserved stands beside its limit: a create reserves and checks in one statement, and does
-- not add up the sandboxes of everybody. The counters change in the transactions that change the
-- sandboxes' rows; the dispatcher compares them with the sums, and `sandlotctl doctor` does. They
-- are signed so that one which is wrong keeps no sandbox from being deleted.
ALTER TABLE hosts
    ADD COLUMN used_vcpus BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN used_memory_mb BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN sandboxes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE teams
    ADD COLUMN used_sandboxes BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN used_vcpus BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN used_memory_mb BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN stopped_sandboxes BIGINT NOT NULL DEFAULT 0;

-- reserved: 1 while a sandbox holds quota of its team and room on its host; 2 when it is deleted and
-- holds the room alone, until its instance is gone.
UPDATE hosts h SET
    used_vcpus = (SELECT COALESCE(SUM(cpu), 0) FROM sandboxes s WHERE s.host_id = h.id AND s.reserved > 0),
    used_memory_mb = (SELECT COALESCE(SUM(memory_mb), 0) FROM sandboxes s WHERE s.host_id = h.id AND s.reserved > 0),
    sandboxes = (SELECT COUNT(*) FROM sandboxes s WHERE s.host_id = h.id AND s.reserved > 0);
UPDATE teams t SET
    used_sandboxes = (SELECT COUNT(*) FROM sandboxes s WHERE s.team_id = t.id AND s.reserved = 1),
    used_vcpus = (SELECT COALESCE(SUM(cpu), 0) FROM sandboxes s WHERE s.team_id = t.id AND s.reserved = 1),
    used_memory_mb = (SELECT COALESCE(SUM(memory_mb), 0) FROM sandboxes s WHERE s.team_id = t.id AND s.reserved = 1),
    stopped_sandboxes = (SELECT COUNT(*) FROM sandboxes s WHERE s.state = 'stopped' AND s.team_id = t.id);
