-- The templates of the deployment belong to a team of its own instead of to ''. Its id is
-- TEAM_DEPLOYMENT_ID of account/account.h; it sorts before every other, so that an own template of
-- a team still goes before the deployment's. Its name is another where a team has this one already.

INSERT INTO teams (id, slug, plan, created_at_ms)
    SELECT 'tea_00000000000000000000000000', IF(COUNT(*) = 0, 'deployment', 'deployment-itself'),
        'enterprise', UNIX_TIMESTAMP() * 1000
    FROM teams WHERE slug = 'deployment';

UPDATE templates SET owner = 'tea_00000000000000000000000000' WHERE owner = '';

ALTER TABLE templates
    ALTER COLUMN owner DROP DEFAULT,
    ADD CONSTRAINT templates_owner FOREIGN KEY (owner) REFERENCES teams (id);
