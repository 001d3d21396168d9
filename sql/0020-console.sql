-- Users sign in to the console with a name and a password. password_hash is argon2id's own text;
-- credentials_epoch moves on whenever what lets a user in changes, so that a sign-in which was checked
-- against the old one comes to nothing. totp_step is the last time step whose code was taken.
ALTER TABLE users
    ADD COLUMN disabled_at_ms BIGINT NULL,
    ADD COLUMN credentials_epoch INT UNSIGNED NOT NULL DEFAULT 0,
    ADD COLUMN password_hash VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NULL,
    ADD COLUMN totp_sealed VARBINARY(255) NULL,
    ADD COLUMN totp_on TINYINT UNSIGNED NOT NULL DEFAULT 0,
    ADD COLUMN totp_step BIGINT NOT NULL DEFAULT 0;

-- Whoever is a member already did everything; roles narrow those who come.
ALTER TABLE memberships
    ADD COLUMN role VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'owner',
    ADD COLUMN added_at_ms BIGINT NULL;
ALTER TABLE memberships ALTER COLUMN role DROP DEFAULT;

-- Who is signed in. The id is the public part of the cookie, of whose secret there is a keyed hash.
CREATE TABLE logins (
    id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    user_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    hash_key_id SMALLINT UNSIGNED NOT NULL,
    hash BINARY(32) NOT NULL,
    method VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_at_ms BIGINT NOT NULL,
    last_seen_at_ms BIGINT NOT NULL,
    idle_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    address VARCHAR(45) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    user_agent VARCHAR(255) NOT NULL,
    KEY logins_user (user_id, id),
    KEY logins_idle (idle_at_ms),
    CONSTRAINT logins_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The link with which a user sets the first password, one a user.
CREATE TABLE invites (
    id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    user_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    hash_key_id SMALLINT UNSIGNED NOT NULL,
    hash BINARY(32) NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    UNIQUE KEY invites_user (user_id),
    CONSTRAINT invites_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What stands in for the second factor, once each.
CREATE TABLE recovery_codes (
    user_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    hash_key_id SMALLINT UNSIGNED NOT NULL,
    hash BINARY(32) NOT NULL,
    PRIMARY KEY (user_id, hash),
    CONSTRAINT recovery_codes_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Attempts to sign in, by address, by account and by both: when the next one would be due if they came
-- at the rate that is allowed for good. A row whose time has passed says nothing.
CREATE TABLE login_attempts (
    subject VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    due_at_ms BIGINT NOT NULL,
    KEY login_attempts_due (due_at_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
