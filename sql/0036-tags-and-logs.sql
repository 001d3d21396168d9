-- Tags: names that point to versions of a template, and can be given to another one.
CREATE TABLE template_tags (
    template_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    tag VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    template_version_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    assigned_at_ms BIGINT NOT NULL,
    PRIMARY KEY (template_id, tag),
    KEY template_tags_version (template_version_id),
    CONSTRAINT template_tags_template FOREIGN KEY (template_id) REFERENCES templates (id),
    CONSTRAINT template_tags_version FOREIGN KEY (template_version_id) REFERENCES template_versions (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Whether other teams may make sandboxes of it, as <team>/<slug>.
ALTER TABLE templates ADD COLUMN is_public TINYINT UNSIGNED NOT NULL DEFAULT 0;

-- What a host's disk keeps for a version; NULL: it was not measured.
ALTER TABLE template_versions ADD COLUMN size_mb INT UNSIGNED NULL;

-- The newest of what the processes of a stopped sandbox had written, sealed like an environment: its memory, where
-- all of it is, cannot be read before it runs again. size: the bytes of sealed.
CREATE TABLE kept_logs (
    sandbox_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    team_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    kept_at_ms BIGINT NOT NULL,
    size INT UNSIGNED NOT NULL,
    sealed MEDIUMBLOB NOT NULL,
    KEY kept_logs_team (team_id, kept_at_ms, size),
    CONSTRAINT kept_logs_sandbox FOREIGN KEY (sandbox_id) REFERENCES sandboxes (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
