-- What happened to the things of a team. A change writes its row into event_outbox in its own
-- transaction; transactions end in another order than their numbers were given, so nobody but the
-- sequencer reads there. It moves what is committed to events, one batch after the other, and numbers
-- it there: a number that can be seen has none below it still to come. seq: of the outbox.
CREATE TABLE event_outbox (
    seq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    team_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    kind VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    sandbox_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NULL,
    data VARCHAR(4000) NOT NULL,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (seq)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE events (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    seq BIGINT UNSIGNED NOT NULL,
    team_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    kind VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    sandbox_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NULL,
    data VARCHAR(4000) NOT NULL,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    KEY events_of_team (team_id, id),
    KEY events_of_sandbox (sandbox_id, id),
    KEY events_at (at_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- One row: whoever has its lock numbers. last_id: up to which number all is there.
CREATE TABLE event_sequencer (
    one TINYINT UNSIGNED NOT NULL,
    last_id BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (one)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT INTO event_sequencer (one, last_id) VALUES (1, 0);

-- Events that could come without end are told once in a while: not before until_ms again.
CREATE TABLE event_throttles (
    subject CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    kind VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    until_ms BIGINT NOT NULL,
    PRIMARY KEY (subject, kind),
    KEY event_throttles_until (until_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The deadline that was announced already, and how many denials were.
ALTER TABLE sandboxes ADD COLUMN deadline_told_ms BIGINT NULL;
ALTER TABLE sandboxes ADD COLUMN denials_told BIGINT UNSIGNED NOT NULL DEFAULT 0;

-- Where a team wants to be told of its events. cursor_id: every event up to there was delivered, or
-- waits in webhook_messages. kinds: names separated by commas, '': all. The secrets are sealed, and gone
-- from a deleted one, whose row stays for a while for answers that are asked for again.
CREATE TABLE webhooks (
    id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    url VARCHAR(2000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    kinds VARCHAR(1023) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    enabled TINYINT UNSIGNED NOT NULL DEFAULT 1,
    secret VARBINARY(255) NOT NULL,
    old_secret VARBINARY(255) NULL,
    old_secret_until_ms BIGINT NULL,
    cursor_id BIGINT UNSIGNED NOT NULL,
    delivered_at_ms BIGINT NULL,
    failed_at_ms BIGINT NULL,
    created_by CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_at_ms BIGINT NOT NULL,
    deleted_at_ms BIGINT NULL,
    PRIMARY KEY (id),
    KEY webhooks_deleted (deleted_at_ms),
    KEY webhooks_of_team (team_id, id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What could not be delivered at once and is sent again, dead letters, and tests. message_id is what
-- the receiver sees, the same each time.
CREATE TABLE webhook_messages (
    id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    webhook_id CHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    message_id VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    kind VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    body VARCHAR(6000) NOT NULL,
    state VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    attempts INT UNSIGNED NOT NULL DEFAULT 0,
    created_at_ms BIGINT NOT NULL,
    next_at_ms BIGINT NOT NULL,
    last_status INT UNSIGNED NULL,
    last_error VARCHAR(255) NULL,
    PRIMARY KEY (id),
    UNIQUE KEY webhook_messages_once (webhook_id, message_id),
    KEY webhook_messages_list (webhook_id, id),
    KEY webhook_messages_due (state, webhook_id, next_at_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
