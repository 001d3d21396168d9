-- A row that refers to its team locks the team's against whoever counts there, although teams are never
-- deleted: each end of a create waited for other creates, and no row of a sandbox could be written before
-- its team was locked.
ALTER TABLE sandboxes DROP FOREIGN KEY sandboxes_team;
ALTER TABLE usage_intervals DROP FOREIGN KEY usage_intervals_team;
