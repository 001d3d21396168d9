-- What requests with an Idempotency-Key have done. state: running, done. The stored answer is
-- sealed like an environment. sandbox_id: what an attempt made, written in the same transaction.
CREATE TABLE idempotency_keys (
    id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    user_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    method VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    path VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    idempotency_key VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    body_key_id SMALLINT UNSIGNED NOT NULL,
    body_mac BINARY(32) NOT NULL,
    state VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    attempt CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    attempts INT UNSIGNED NOT NULL,
    lease_until_ms BIGINT NOT NULL,
    sandbox_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NULL,
    status SMALLINT UNSIGNED NULL,
    answer_sealed MEDIUMBLOB NULL,
    created_at_ms BIGINT NOT NULL,
    UNIQUE KEY idempotency_keys_scope (user_id, method, path, idempotency_key),
    KEY idempotency_keys_age (created_at_ms),
    CONSTRAINT idempotency_keys_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
