-- Keys that sign in over SSH are keys as others are, but for what proves them: the fingerprint (SHA-256,
-- base64 without padding) finds a key that is not revoked, and the hash belongs to no secret.
ALTER TABLE api_keys ADD COLUMN ssh_public_key VARCHAR(6000) CHARACTER SET ascii COLLATE ascii_bin NULL;
ALTER TABLE api_keys ADD COLUMN ssh_fingerprint CHAR(43) CHARACTER SET ascii COLLATE ascii_bin NULL;
ALTER TABLE api_keys ADD UNIQUE KEY api_keys_ssh_fingerprint (ssh_fingerprint);
