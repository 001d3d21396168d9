-- What an attempt made is a sandbox, a volume, a checkpoint or a template version.
ALTER TABLE idempotency_keys
    CHANGE COLUMN sandbox_id made_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NULL;
