-- Users whom an identity provider (OpenID Connect) vouches for: its own name for each, which never
-- changes, and ours.
CREATE TABLE identities (
    issuer VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    subject VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    user_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (issuer, subject),
    KEY identities_user (user_id),
    CONSTRAINT identities_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Memberships that follow the groups of the identity provider at each sign-in; the others stay.
ALTER TABLE memberships ADD COLUMN from_groups TINYINT UNSIGNED NOT NULL DEFAULT 0;
