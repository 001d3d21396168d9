-- Who works on a row until lease_until_ms has one name in every table.
ALTER TABLE operations RENAME COLUMN holder TO lease_owner;
ALTER TABLE template_versions RENAME COLUMN holder TO lease_owner;
