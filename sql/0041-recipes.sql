-- A version that is built from another one by steps: they run in a sandbox of the team, whose disk it becomes.
-- copied_instance on copied_host_id: what is to be copied once they are done.
ALTER TABLE template_versions
    ADD COLUMN base_version_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NULL,
    ADD COLUMN copied_host_id INT UNSIGNED NULL,
    ADD COLUMN copied_instance VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NULL;

-- state: waiting (the steps are still to be said), running, copying (the disk is), done. sealed: the steps, which may
-- hold secrets; NULL before they are said and when all is done. tags: a list in JSON, for when it is built. step: how many are over; begun: the next one runs.
-- output_at: bytes that were read of what it writes. failed_step: "base", its number from 1, or "finalize".
CREATE TABLE template_recipes (
    template_version_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    team_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    user_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    sealed MEDIUMBLOB NULL,
    tags MEDIUMTEXT NULL,
    sandbox_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NULL,
    step INT UNSIGNED NOT NULL DEFAULT 0,
    begun TINYINT UNSIGNED NOT NULL DEFAULT 0,
    output_at BIGINT UNSIGNED NOT NULL DEFAULT 0,
    failed_step VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL,
    failure VARCHAR(1024) NULL,
    lease_owner VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    lease_until_ms BIGINT NULL,
    attempts INT UNSIGNED NOT NULL DEFAULT 0,
    created_at_ms BIGINT NOT NULL,
    KEY template_recipes_work (state, lease_until_ms),
    KEY template_recipes_team (team_id, state),
    CONSTRAINT template_recipes_version FOREIGN KEY (template_version_id) REFERENCES template_versions (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Archives that steps copy from, by the name that a client gave them: the hash that it has made of its files. They go
-- a day after they were last asked for.
CREATE TABLE recipe_files (
    id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    team_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    hash VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    size BIGINT UNSIGNED NOT NULL DEFAULT 0,
    is_whole TINYINT UNSIGNED NOT NULL DEFAULT 0,
    used_at_ms BIGINT NOT NULL,
    KEY recipe_files_hash (team_id, hash),
    KEY recipe_files_used (used_at_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE recipe_file_parts (
    file_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    number INT UNSIGNED NOT NULL,
    data MEDIUMBLOB NOT NULL,
    PRIMARY KEY (file_id, number),
    CONSTRAINT recipe_file_parts_file FOREIGN KEY (file_id) REFERENCES recipe_files (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- A webhook that was made by a client of E2B: it has a name, and is told in that service's form, signed with a secret
-- that the client chose. form: standard, e2b.
ALTER TABLE webhooks
    ADD COLUMN form VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'standard',
    ADD COLUMN name VARCHAR(255) NULL;
