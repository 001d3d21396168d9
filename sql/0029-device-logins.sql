-- Programs that ask to be let in as somebody (RFC 8628): who asks holds a secret of which there is a keyed
-- hash, and shows a code that somebody who is signed in to the console confirms. epoch is that of the user's
-- credentials at that moment: when they change, the confirmation comes to nothing.
CREATE TABLE device_logins (
    id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    hash_key_id SMALLINT UNSIGNED NOT NULL,
    hash BINARY(32) NOT NULL,
    user_code CHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    client VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    address VARCHAR(45) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    state VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    user_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NULL,
    epoch INT UNSIGNED NULL,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    poll_at_ms BIGINT NOT NULL,
    UNIQUE KEY device_logins_user_code (user_code),
    KEY device_logins_expires (expires_at_ms),
    CONSTRAINT device_logins_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
